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


# Liu et al. (arXiv:2103.14030v2), table 1: parameters [M] and operations [G]; Swin-B at 384 px is printed
# with 47.0 there, where its count is 47.08
PRINTED = {
    "DeiT-S": ("22", "4.6"),
    "Swin-T": ("28", "4.5"),
    "Swin-S": ("50", "8.7"),
    "Swin-B": ("88", "15.4"),
    "Swin-B@384": ("88", "47.1"),
    "Swin-L@384": ("197", "103.9"),
}
# the same: width of the first stage, heads and blocks of each stage, window
STAGES = {
    "Swin-T": (96, (3, 6, 12, 24), (2, 2, 6, 2)),
    "Swin-S": (96, (3, 6, 12, 24), (2, 2, 18, 2)),
    "Swin-B": (128, (4, 8, 16, 32), (2, 2, 18, 2)),
    "Swin-L": (192, (6, 12, 24, 48), (2, 2, 18, 2)),
}
# Dosovitskiy et al., table 1; Touvron et al., table 1; Steiner et al.: width, blocks, heads
SIZES = {
    "Ti": (192, 12, 3),
    "S": (384, 12, 6),
    "B": (768, 12, 12),
    "L": (1024, 24, 16),
    "H": (1280, 32, 16),
}


@pytest.mark.parametrize("name", PRINTED)
def test_counts_agree_with_print(name):
    model = published(name)
    found = f"{params(model).total / 1e6:.0f}", f"{macs(model).total / 1e9:.1f}"
    assert found == PRINTED[name]


def test_the_huge_model_agrees_with_print():
    """ViT's table 1: 632M."""
    assert f"{params(published('ViT-H/14')).total / 1e6:.0f}" == "632"


@pytest.mark.parametrize("name", NAMES)
def test_widths_depths_and_heads_are_those_of_the_tables(name):
    model = published(name)
    size = name.partition("@")[0].partition("/")[0].removesuffix(" distilled")
    if size in STAGES:
        width, heads, depths = STAGES[size]
        assert [stage.width for stage in model.stages] == [width, 2 * width, 4 * width, 8 * width]
        assert tuple(stage.heads for stage in model.stages) == heads
        assert tuple(stage.depth for stage in model.stages) == depths
        windows = {stage.window for stage in model.stages}
        assert windows == {12 if name.endswith("@384") else 7}
    else:
        (stage,) = model.stages
        assert (stage.width, stage.depth, stage.heads) == SIZES[size.partition("-")[2]]


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_names_its_own_source(name):
    source, family = published(name).source, name.partition("-")[0]
    later = family == "ViT" and ("-Ti/" in name or "-S/" in name or "/8" in name)
    authors = {"ViT": "Dosovitskiy", "DeiT": "Touvron", "Swin": "Liu"}[family]
    assert source.startswith("Steiner" if later else authors)
    assert ("section 4" in source) == ("distilled" in name)
    # the paper has no model of its own at 224 px with a linear read-out
    assert ("pre-training" in source) == (family == "ViT" and not later and "@" not in name)
    assert ("window12_384" in source) == (family == "Swin" and name.endswith("@384"))
    assert published(name).teacher in (None, "RegNetY-16GF")


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
