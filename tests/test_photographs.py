"""The photographs: what was recorded is what is loaded, and nobody can change it."""

import builtins
import json
import shutil
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vitbias import photographs
from vitbias.errors import GeometryError, MissingExtraError, UnknownNameError, ValuesError
from vitbias.photographs import photograph, photograph_names

DATA = Path(photographs.__file__).parent / "data"
RECORD = json.loads((DATA / "photographs.json").read_text(encoding="utf-8"))
CROPS = [
    (name, int(side), crop)
    for name, entry in RECORD["photographs"].items()
    for side, crop in entry["crops"].items()
]


@pytest.mark.parametrize(("name", "side", "crop"), CROPS)
def test_files_and_pixels_have_the_recorded_digests(name, side, crop):
    path = DATA / crop["file"]
    assert sha256(path.read_bytes()).hexdigest() == crop["png_sha256"]
    with Image.open(path) as image:
        assert image.mode == "RGB"
        assert image.size == (side, side)
        assert image.info == {}, "no metadata"
        pixels = np.array(image)
    picture = photograph(name, side)
    assert np.array_equal(picture.pixels, pixels)
    assert picture.pixels.dtype == np.uint8
    assert sha256(pixels.tobytes()).hexdigest() == picture.pixel_sha256 == crop["pixel_sha256"]


def test_every_file_of_the_folder_is_recorded():
    recorded = {crop["file"] for _, _, crop in CROPS} | {"photographs.json"}
    assert {path.name for path in DATA.iterdir()} == recorded


def test_names_are_the_recorded_ones():
    assert photograph_names() == ("china", "flower") == tuple(sorted(RECORD["photographs"]))


@pytest.mark.parametrize(("name", "side", "crop"), CROPS)
def test_the_pictures_have_texture(name, side, crop):
    """A blank or garbled file would pass every digest that was taken from it."""
    pixels = photograph(name, side).pixels.astype(int)
    assert pixels.std(axis=(0, 1)).min() > 20
    step = np.abs(np.diff(pixels, axis=1)).mean()
    assert 2 < step < 40, "neighbours are alike, but not the same"


@pytest.mark.parametrize("name", photograph_names())
def test_the_large_cut_holds_the_small_one(name):
    """Both come from one original: the small cut lies in the large one, 448/427 times enlarged."""
    corners = {}
    for side in (224, 448):
        text = RECORD["photographs"][name]["crops"][str(side)]["changes"]
        words = text.replace(",", "").replace("(", "").replace(")", "").split()
        corners[side] = tuple(int(words[words.index(word) + 1]) for word in ("columns", "rows"))
    small = Image.fromarray(photograph(name, 224).pixels)
    left, top = (near - far for near, far in zip(corners[224], corners[448], strict=True))
    scale = 448 / 427
    box = (left * scale, top * scale, (left + 224) * scale, (top + 224) * scale)
    large = Image.fromarray(photograph(name, 448).pixels)
    again = large.resize((224, 224), Image.Resampling.BICUBIC, box=box)
    assert np.abs(np.array(again).astype(int) - np.array(small)).mean() < 4


def test_pixels_cannot_be_changed():
    pixels = photograph("china").pixels
    with pytest.raises(ValueError, match="read-only"):
        pixels[0, 0, 0] = 0
    with pytest.raises(ValueError, match="WRITEABLE"):
        pixels.flags.writeable = True


def test_credit_is_one_line_with_author_licence_and_changes():
    assert photograph("flower", 448).credit == (
        "Photograph: [flower.jpg](https://www.flickr.com/photos/vultilion/6056698931/"
        "sizes/z/in/photostream/) "
        "by vultilion, [CC BY 2.0](https://creativecommons.org/licenses/by/2.0/); "
        "cropped to 427 × 427 pixels (columns 95 to 521, rows 0 to 426) "
        "and enlarged to 448 × 448 (Lanczos); "
        f"pixels sha256 {photograph('flower', 448).pixel_sha256[:16]}."
    )
    assert "by danielbuechele, [CC BY 2.0]" in photograph("china").credit


def test_unknown_name_gives_the_near_one():
    with pytest.raises(
        UnknownNameError, match=r"name: expected one of 'china', 'flower'.*'flower'\?"
    ):
        photograph("flowers")


@pytest.mark.parametrize("side", [225, 0, 224.0, True, "224"])
def test_other_sides_are_refused(side):
    with pytest.raises(GeometryError, match=r"^side: expected "):
        photograph("china", side)


def test_refusal_says_which_sides_there_are():
    with pytest.raises(GeometryError, match="expected 224 or 448, got 256"):
        photograph("china", 256)


def test_changed_file_is_refused(tmp_path, monkeypatch):
    copy = shutil.copytree(DATA, tmp_path / "data")
    shutil.copyfile(copy / "flower_224.png", copy / "china_224.png")
    monkeypatch.setattr(photographs, "DATA", copy)
    with pytest.raises(ValuesError, match=r"^china_224\.png: expected sha256"):
        photograph("china")


def test_other_pixels_are_refused(tmp_path, monkeypatch):
    copy = shutil.copytree(DATA, tmp_path / "data")
    path = copy / "photographs.json"
    text = path.read_text(encoding="utf-8")
    crop = RECORD["photographs"]["china"]["crops"]["224"]
    path.write_text(text.replace(crop["pixel_sha256"], "0" * 64), encoding="utf-8")
    monkeypatch.setattr(photographs, "DATA", copy)
    with pytest.raises(ValuesError, match=r"^pixels of china_224\.png: expected sha256 0000"):
        photograph("china")


def test_missing_pillow_names_the_extra(monkeypatch):
    def without_pillow(name, *rest):
        if name.partition(".")[0] == "PIL":
            raise ImportError(name)
        return real_import(name, *rest)

    real_import = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without_pillow)
    with pytest.raises(MissingExtraError, match=r"Pillow.*vitbias\[figures\]"):
        photograph("china")
