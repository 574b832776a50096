"""A recording is found by its name, is the one that was made, and cannot be changed."""

import json
import shutil
from pathlib import Path

import pytest

from vitbias import recordings
from vitbias.errors import UnknownNameError, ValuesError
from vitbias.recordings import INDEX, recorded, recording_names
from vitbias.recordings.counters import READINGS

FOLDER = Path(str(recordings.DATA))


def test_the_index_names_every_file_and_no_other():
    index = json.loads((FOLDER / INDEX).read_text(encoding="utf-8"))
    assert list(index) == sorted(index) == list(recording_names())
    assert {INDEX, READINGS, *(entry["file"] for entry in index.values())} == {
        path.name for path in FOLDER.iterdir()
    }


@pytest.mark.parametrize("name", recording_names())
def test_each_is_small_and_says_what_made_it(name):
    recording = recorded(name)
    assert recording.name == name
    assert recording.arrays
    assert {"torch", "numpy"} < set(recording.versions)
    assert recording.how.endswith(".")
    assert not any(array.flags.writeable for array in recording.arrays.values())
    file = json.loads((FOLDER / INDEX).read_text(encoding="utf-8"))[name]["file"]
    assert (FOLDER / file).stat().st_size < 300_000


def test_a_name_that_is_none_gets_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'resizing rectangular'"):
        recorded("resizing rectangle")


def test_another_file_is_refused(tmp_path, monkeypatch):
    shutil.copytree(FOLDER, tmp_path / "data")
    file = tmp_path / "data" / "forward_timm_class.npz"
    file.write_bytes(file.read_bytes() + b"\0")
    monkeypatch.setattr(recordings, "DATA", tmp_path / "data")
    with pytest.raises(
        ValuesError, match=r"^forward_timm_class\.npz: expected sha256 [0-9a-f]{64}"
    ):
        recorded("forward timm class")
