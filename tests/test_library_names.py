"""Releases of timm and torchvision: every name against the counts recorded from the library itself."""

import csv
from pathlib import Path

import pytest

from vitbias.counts import macs, params
from vitbias.errors import UnknownNameError
from vitbias.readers.catalogue import NAMES, published, release, releases
from vitbias.readers.library_names import REFUSED, library_models

COUNTS = Path(__file__).parent / "data" / "library_counts.csv"
LINES = COUNTS.read_text(encoding="utf-8").splitlines()
RECORDED = {
    row["name"]: (int(row["params"]), int(row["macs"])) for row in csv.DictReader(LINES[1:])
}


def test_every_name_has_been_counted_by_its_library():
    assert LINES[0] == "# torch 2.13.0, timm 1.0.31, torchvision 0.28.0"
    assert set(RECORDED) == set(library_models())
    assert len(RECORDED) == 179


@pytest.mark.parametrize("name", RECORDED)
def test_parameters_and_macs_to_the_last_digit(name):
    model = published(name)
    assert (params(model).total, macs(model).total) == RECORDED[name]


@pytest.mark.parametrize(
    ("paper", "library"),
    [
        *(
            (f"ViT-{a}/16", f"timm:vit_{b}_patch16_224")
            for a, b in zip("SBL", ("small", "base", "large"), strict=True)
        ),
        *((f"Swin-{a}", f"torchvision:swin_{a.lower()}") for a in "TSB"),
        ("DeiT-S distilled", "timm:deit_small_distilled_patch16_224"),
        ("ViT-H/14", "torchvision:vit_h_14"),
        ("Swin-L@384", "timm:swin_large_patch4_window12_384"),
    ],
)
def test_where_the_head_is_the_same_a_paper_and_a_library_have_the_same_counts(paper, library):
    assert params(published(paper)) == params(published(library))
    assert macs(published(paper)) == macs(published(library))


def test_one_paper_three_heads():
    """ViT-H/14: the paper's head as after fine-tuning, none in timm, none but a text projection in CLIP's."""
    paper = published("ViT-H/14")
    bare, clip = (published(f"timm:vit_huge_patch14_{end}") for end in ("224", "clip_378"))
    assert params(paper).total - params(bare).total == 1280 * 1000 + 1000
    assert params(paper).read_out - params(clip).read_out == (1000 - 1024) * 1281
    assert release("timm:vit_huge_patch14_224").counted == "no classifier"
    assert release("ViT-H/14").counted == "a classifier of 1,000 classes"
    assert release("DeiT-S distilled").counted == "two classifiers of 1,000 classes"
    pooled = release("timm:vit_base_patch16_siglip_224")
    assert pooled.counted == "attention pool, no classifier"


def test_the_keys_biases_that_one_library_keeps():
    """torchvision's Swin v2 holds biases of keys and zeroes them in each pass; timm's has none."""
    theirs, other = published("torchvision:swin_v2_t"), published("timm:swinv2_tiny_window8_256")
    keys = sum(stage.depth * stage.width for stage in theirs.stages)
    assert params(theirs).attention - params(other).attention == keys == 4416
    assert macs(theirs) == macs(other)


def test_registers_add_tokens_and_take_the_class_token_out_of_the_table():
    plain, more = (published(f"timm:vit_small_patch14{a}_dinov2") for a in ("", "_reg4"))
    assert more.tokens - plain.tokens == 4
    assert params(more).extra_tokens - params(plain).extra_tokens == 4 * 384
    assert params(plain).position - params(more).position == 384


def test_the_releases():
    found = releases()
    names = [entry.architecture.name for entry in found]
    assert len(names) == len(set(names)) == len(NAMES) + 179
    assert {entry.library for entry in found} == {"paper", "timm", "torchvision"}
    for entry in found:
        own = entry.name if entry.library == "paper" else f"{entry.library}:{entry.name}"
        assert entry == release(own) and entry.architecture.name == own
        assert entry.library == "paper" or entry.architecture.source.endswith(entry.name)


@pytest.mark.parametrize("family", REFUSED)
def test_what_cannot_be_described_is_refused_by_name_and_reason(family):
    with pytest.raises(UnknownNameError) as caught:
        published(f"timm:{family}_tiny_224")
    assert REFUSED[family] in str(caught.value) and f"{family}_tiny_224" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("timm:vit_bas_patch16_224", "did you mean 'timm:vit_base_patch16_224'"),
        ("tim:vit_base_patch16_224", "library: expected one of 'timm', 'torchvision', got 'tim'"),
        ("timm:", "name: expected one of 'DeiT-B'"),
        (5, "name: expected one of 'DeiT-B'"),
        ("vit_base_patch16_224", "name: expected one of 'DeiT-B'"),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(UnknownNameError) as caught:
        published(name)
    assert message in str(caught.value)
