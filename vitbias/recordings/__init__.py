"""Arrays that released code computed, with the versions that computed them.

One npz file for each recording in ``data/``, and one index, ``recordings.json``: file, digest, versions,
and how it was made. ``tests/models/record.py`` makes all of them but "resizing" again, from random weights
of fixed seeds; nothing here is trained, and nothing is anybody's but the numbers.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np

from vitbias.arrays import Array
from vitbias.errors import Literal, ValuesError, require_choice

__all__ = ["Recording", "recorded", "recording_names"]

DATA = files("vitbias.recordings") / "data"
INDEX = "recordings.json"


@dataclass(frozen=True, eq=False)
class Recording:
    """``arrays`` by name, read-only; ``versions`` by package; ``how`` in one or two sentences."""

    name: str
    arrays: Mapping[str, Array]
    versions: Mapping[str, str]
    how: str


def recording_names() -> tuple[str, ...]:
    """The names that ``recorded`` knows, in alphabetical order."""
    return tuple(sorted(_index()))


def recorded(name: str) -> Recording:
    """The recording ``name``.

    Raises
    ------
    UnknownNameError : no recording of that name
    ValuesError : the file is not the one that was recorded
    """
    index = _index()
    entry = index[require_choice("name", name, index)]
    content = (DATA / entry["file"]).read_bytes()
    digest = sha256(content).hexdigest()
    if digest != entry["sha256"]:
        raise ValuesError(entry["file"], expected=f"sha256 {entry['sha256']}", got=Literal(digest))
    with np.load(io.BytesIO(content), allow_pickle=False) as packed:
        arrays = {key: packed[key] for key in packed.files}
    for array in arrays.values():
        array.flags.writeable = False
    versions = MappingProxyType(entry["versions"])
    return Recording(name, MappingProxyType(arrays), versions, entry["how"])


def _index() -> dict[str, dict[str, Any]]:
    index: dict[str, dict[str, Any]] = json.loads((DATA / INDEX).read_text(encoding="utf-8"))
    return index
