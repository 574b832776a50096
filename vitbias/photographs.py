"""The two photographs that the book works on, with author, licence and changes.

``china`` and ``flower`` come from scikit-learn's folder of sample images. They were decoded once and
are kept as PNG files, so that every machine computes with the same numbers; ``data/photographs.json``
says where they come from and what was changed.

Convention: height, width, channel; 8-bit RGB. The arrays are views of immutable bytes.
"""

import io
import json
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitbias.errors import (
    GeometryError,
    Literal,
    MissingExtraError,
    ValuesError,
    require_choice,
    require_size,
)

__all__ = ["Photograph", "photograph", "photograph_names"]

DATA = files("vitbias") / "data"


@dataclass(frozen=True, eq=False)
class Photograph:
    """A square photograph and all that has to be said under it.

    ``pixels`` is a read-only uint8 array of shape (side, side, 3); ``pixel_sha256`` is the digest of
    its bytes in that order. ``title`` is the file's name upstream, ``author`` a Flickr user name.
    """

    name: str
    title: str
    pixels: NDArray[np.uint8]
    author: str
    source: str
    licence: str
    licence_url: str
    changes: str
    pixel_sha256: str

    @property
    def credit(self) -> str:
        """One line of MyST text for a caption: title, author, licence, changes, digest."""
        return (
            f"Photograph: [{self.title}]({self.source}) by {self.author}, "
            f"[{self.licence}]({self.licence_url}); {self.changes}; "
            f"pixels sha256 {self.pixel_sha256[:16]}."
        )


def photograph_names() -> tuple[str, ...]:
    """The names that ``photograph`` knows, in alphabetical order.

    >>> photograph_names()
    ('china', 'flower')
    """
    return tuple(sorted(_records()))


def photograph(name: str, side: int = 224) -> Photograph:
    """The photograph ``name``, ``side`` pixels high and wide.

    The side of 224 px is a cut of original pixels. The originals are 427 px high, so the side of
    448 px is a square of 427 px, enlarged.

    >>> photograph("china").pixels.shape
    (224, 224, 3)

    Raises
    ------
    UnknownNameError : no photograph of that name
    GeometryError : ``side`` is not one of the kept sides
    MissingExtraError : Pillow is not installed
    ValuesError : the file is not the one that was recorded
    """
    record = _records()[require_choice("name", name, _records())]
    crops = {int(key): crop for key, crop in record["crops"].items()}
    if require_size("side", side) not in crops:
        raise GeometryError("side", expected=" or ".join(map(str, sorted(crops))), got=side)
    crop = crops[side]
    content = _decode(crop)
    return Photograph(
        name=name,
        pixels=np.frombuffer(content, dtype=np.uint8).reshape(side, side, 3),
        changes=crop["changes"],
        pixel_sha256=crop["pixel_sha256"],
        **{key: record[key] for key in ("title", "author", "source", "licence", "licence_url")},
    )


def _records() -> dict[str, dict[str, Any]]:
    text = (DATA / "photographs.json").read_text(encoding="utf-8")
    records: dict[str, dict[str, Any]] = json.loads(text)["photographs"]
    return records


def _decode(crop: dict[str, str]) -> bytes:
    """The pixels of one PNG file; file and pixels are held against the recorded digests."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError(
            "photograph",
            expected="the package Pillow",
            got=Literal("no such package"),
            hint="install vitbias[figures]",
        ) from None
    packed = (DATA / crop["file"]).read_bytes()
    _require_digest(crop["file"], packed, crop["png_sha256"])
    with Image.open(io.BytesIO(packed)) as image:
        content = image.tobytes()
    _require_digest(f"pixels of {crop['file']}", content, crop["pixel_sha256"])
    return content


def _require_digest(field: str, content: bytes, expected: str) -> None:
    digest = sha256(content).hexdigest()
    if digest != expected:
        raise ValuesError(field, expected=f"sha256 {expected}", got=Literal(digest))
