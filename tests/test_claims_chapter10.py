"""What chapter 10 claims fails when a count or a quotation is broken."""

from fractions import Fraction

import pytest

from vitbias.claims import chapter10, chapter10_names
from vitbias.claims.chapter10 import CLAIMS, JFT_CLASSES, JFT_IMAGES, TABLE_6
from vitbias.counts import params, training_flops, vit_macs
from vitbias.readers.catalogue import published

EVIDENCE = {record.id: record.evidence for record in CLAIMS}


@pytest.mark.parametrize("claim_id", EVIDENCE)
def test_evidence_holds(claim_id: str) -> None:
    assert all(isinstance(value, str) and value for value in EVIDENCE[claim_id]().values())


def test_without_a_class_token_no_row_agrees() -> None:
    for name, epochs, printed in TABLE_6:
        model = published(name)
        work = vit_macs(
            model.patches, model.raw_dim, model.width, model.depth, JFT_CLASSES, extra=0
        )
        total = Fraction(training_flops(work, epochs * JFT_IMAGES), 10**18)
        assert abs(total / printed - 1) > Fraction(2, 1000)


@pytest.mark.parametrize(
    ("name", "value", "broken"),
    [
        ("JFT_IMAGES", 304_000_000, ["R10.8"]),
        ("training_flops", lambda work, images: 2 * work * images, ["R10.8"]),
        ("expected", lambda counter, model: 7, ["R10.3"]),
        ("ONE_MODEL", ("timm:vit_base_patch16_224",), ["R10.3"]),
        ("RELEASED_SWIN", {"Swin-T": 4_494_292_224}, ["R10.9"]),
        ("operations", lambda model, convention: 5_870_008_320, ["R10.9"]),
        ("vit_macs", lambda *sizes: vit_macs(*sizes) + sizes[0] ** 3, ["T16"]),
        ("vit_params", lambda *sizes: 1, ["R10.1"]),
        ("SWIN_TABLE_1", {"ViT-B/16@384": (1, "1", "2"), "EffNet-B7": (1, "2", "1")}, ["R10.4"]),
    ],
)
def test_a_broken_count_is_noticed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, broken: list[str]
) -> None:
    monkeypatch.setattr(chapter10, name, value)
    for claim_id in broken:
        with pytest.raises(AssertionError):
            EVIDENCE[claim_id]()


NAMES = {record.id: record.evidence for record in chapter10_names.CLAIMS}


@pytest.mark.parametrize("claim_id", NAMES)
def test_evidence_on_names_and_recipes_holds(claim_id: str) -> None:
    assert all(isinstance(value, str) and value for value in NAMES[claim_id]().values())


@pytest.mark.parametrize(
    ("name", "value", "claim_id"),
    [
        ("head_params", lambda width, classes: width * classes, "V10.1"),
        ("SEVERAL", {**chapter10_names.SEVERAL, "Swin-T": ("Swin-T", "Swin-S")}, "V10.1"),
        ("RECIPES", chapter10_names.RECIPES[:3] + chapter10_names.RECIPES[2:3], "V10.2"),
        ("DEIT_TABLE_5", chapter10_names.DEIT_TABLE_5[:2] * 2, "V10.3"),
        ("macs", lambda model: params(model), "V10.3"),
    ],
)
def test_a_broken_name_or_recipe_is_noticed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, claim_id: str
) -> None:
    monkeypatch.setattr(chapter10_names, name, value)
    with pytest.raises((AssertionError, KeyError)):
        NAMES[claim_id]()
