"""Published models against what released code reported, and against what their papers print."""

import pytest

from vitbias.counts import macs, params
from vitbias.errors import UnknownNameError
from vitbias.readers.catalogue import NAMES, published

# timm 1.0.31, torch 2.13.0 (CPU build): parameters, and flops of matmul and convolution on meta
# tensors without fused attention (2 for each multiply-accumulate)
RECORDED = {
    "ViT-Ti/16": (5_717_416, 2_507_366_400),
    "ViT-S/16": (22_050_664, 9_197_764_608),
    "ViT-B/16": (86_567_656, 35_127_656_448),
    "ViT-L/16": (304_326_632, 123_109_425_152),
    "ViT-B/32": (88_224_232, 8_818_372_608),
    "ViT-B/16@384": (86_859_496, 110_968_700_928),
    "DeiT-Ti": (5_717_416, 2_507_366_400),
    "DeiT-S": (22_050_664, 9_197_764_608),
    "DeiT-B": (86_567_656, 35_127_656_448),
    "DeiT-S distilled": (22_436_432, 9_248_280_576),
    "DeiT-B distilled": (87_338_192, 35_313_623_040),
    "Swin-T": (28_288_354, 8_981_133_312),
    "Swin-B": (87_768_224, 30_861_893_632),
    "Swin-B@384": (87_903_584, 94_166_269_952),
}


@pytest.mark.parametrize("name", RECORDED)
def test_counts_equal_those_of_released_code(name):
    model = published(name)
    assert (params(model).total, 2 * macs(model).total) == RECORDED[name]


def test_counts_agree_with_print():
    """ViT's table 1: H has 632M; the release of Swin: L at 384 px has 197M and 103.9G."""
    huge, large = published("ViT-H/14"), published("Swin-L@384")
    assert f"{params(huge).total / 1e6:.0f}" == "632"
    assert f"{params(large).total / 1e6:.0f}" == "197"
    assert f"{macs(large).total / 1e9:.1f}" == "103.9"


def test_the_released_huge_model_without_its_classifier():
    """timm's vit_huge_patch14_224 has no classifier: 630,764,800 parameters."""
    report = params(published("ViT-H/14"))
    assert report.total == 632_045_800
    assert report.total - report.read_out == 630_764_800
    assert 2 * (macs(published("ViT-H/14")).total - 1280 * 1000) == 334_587_658_240


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_says_what_it_is(name):
    model = published(name)
    assert model.name == name
    side = int(name.partition("@")[2] or 224)
    assert model.image_px == (side, side)
    assert model.classes == 1000
    assert "arXiv:" in model.source
    assert model is published(name)
    family = name.partition("-")[0]
    written = name.partition("@")[0].partition("/")[2]
    assert model.patch_px == int(written or {"DeiT": 16, "Swin": 4}[family])
    assert (model.teacher is not None) == ("distilled" in name)
    assert model.position == ("relative" if family == "Swin" else "learned")
    assert all(stage.width // stage.heads in (32, 64, 80) for stage in model.stages)


def test_the_last_stage_of_swin_sees_all():
    for name in NAMES:
        if name.startswith("Swin"):
            *_, last, end = published(name).blocks
            assert last.sees_all
            assert (end.window, end.shift) == (end.grid[0], 0)
            assert not published(name).blocks[-3].sees_all


def test_unknown_names():
    with pytest.raises(UnknownNameError, match=r"did you mean 'ViT-B/16'"):
        published("ViT-B16")
    assert len(NAMES) == len(set(NAMES)) == 32
