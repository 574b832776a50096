"""Work and conventions against loops over a small model's maps, norms and biases."""

from dataclasses import fields, replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitbias.architecture import Architecture, Stage, plain_vit
from vitbias.conventions import (
    CONVENTIONS,
    NORMS,
    Convention,
    Work,
    convert,
    matching,
    operations,
    released_swin_operations,
    work,
)
from vitbias.counts import macs
from vitbias.errors import GeometryError, UnknownNameError, ValuesError
from vitbias.readers.catalogue import published
from vitbias.readers.library_names import library_models

SMALL = plain_vit(15, 5, 14, 3, 7, 11, mlp_ratio=2)
KINDS = [field.name for field in fields(Work)]


def by_maps(model: Architecture) -> dict[str, int]:
    """A plain model, map by map and token by token: (inputs, outputs, tokens, biased), and its norms."""
    tokens, d, hidden = model.tokens, model.width, model.stages[0].hidden
    counts = dict.fromkeys(KINDS, 0)
    for _ in range(model.depth):
        for _ in range(tokens):
            for kind, outputs, inputs in (
                ("queries", 3 * d, d),
                ("outputs", d, d),
                ("mlp", hidden, d),
                ("mlp", d, hidden),
            ):
                counts[kind] += outputs * inputs
                counts[{"queries": "query", "outputs": "output"}.get(kind, kind) + "_biases"] += (
                    outputs
                )
            counts["products"] += 2 * tokens * d
            counts["block_norms"] += 2 * d
            counts["activated"] += hidden
            counts["softmaxed"] += tokens * model.stages[0].heads
            counts["scaled"] += d
    counts["other_norms"] = tokens * d
    counts["patches"] = model.patches * model.raw_dim * d
    counts["patch_biases"] = model.patches * d
    counts["read_out"], counts["read_out_biases"] = d * 11, 11
    return counts


def test_a_plain_model_map_by_map() -> None:
    assert vars(work(SMALL)) == by_maps(SMALL)


@pytest.mark.parametrize("name", sorted(library_models()))
def test_the_macs_are_those_of_the_counts(name: str) -> None:
    model = library_models()[name]
    done, total = work(model), macs(model)
    assert CONVENTIONS["macs"](done) == total.total
    assert CONVENTIONS["macs"](done) - CONVENTIONS["macs without products"](done) == total.pairs


def test_what_each_part_of_a_model_adds() -> None:
    base = work(SMALL)

    def more(**parts: object) -> dict[str, int]:
        other = work(replace(SMALL, **parts))
        return {
            k: getattr(other, k) - getattr(base, k)
            for k in KINDS
            if getattr(other, k) != getattr(base, k)
        }

    rows = 3 * 10 * 14  # blocks, tokens, width
    assert more(patch_bias=False) == {"patch_biases": -9 * 14}
    assert more(qkv_bias=False) == {"query_biases": -3 * rows}
    assert more(key_bias=False) == {"query_biases": -rows, "zero_biases": rows}
    assert more(attention_norm=True) == {"block_norms": rows}
    assert more(mlp_norm=True) == {"block_norms": 2 * rows}
    assert more(gated_mlp=True) == {"mlp": 2 * rows * 14, "mlp_biases": 2 * rows}
    assert more(embedding_norm=True) == {"other_norms": 10 * 14}
    assert more(final_norm=False) == {"other_norms": -10 * 14}
    assert more(talking_heads=True) == {
        "talking": 2 * 3 * 100 * 49,
        "talking_biases": 2 * 3 * 7 * 100,
    }
    assert more(read_out="mean") == {"pooled": 9 * 14}
    averaged = more(read_out="mean", pooled_norm=True)
    assert averaged == {"pooled": 9 * 14, "other_norms": -9 * 14}
    assert more(classes=None, read_out="none") == {"read_out": -14 * 11, "read_out_biases": -11}
    assert more(representation=13)["read_out_biases"] == 13


def test_class_blocks_have_one_query() -> None:
    done = work(replace(SMALL, class_blocks=2, position_extra=0))
    d, hidden, keys = 14, 28, 10
    assert done.class_products == 2 * 2 * keys * d
    assert done.class_maps == 2 * (2 * d * d + 2 * keys * d * d + 2 * d * hidden)
    assert done.class_biases == 2 * ((1 + 2 * keys + 1) * d + hidden + d)
    assert done.products == 3 * 2 * 9 * 9 * d


def test_a_pooling_read_out() -> None:
    model = replace(
        SMALL, class_token=False, read_out="attention pool", classes=None, position_extra=0
    )
    done, base = work(model), work(replace(model, read_out="none"))
    assert done.pool_products == 2 * 9 * 14
    assert done.read_out == 2 * 14**2 + 2 * 9 * 14**2 + 2 * 14 * 28
    assert done.read_out_biases == 14 * (1 + 2 * 9 + 1) + 28 + 14
    assert done.other_norms - base.other_norms == 14 and done.activated - base.activated == 28


def test_windows_and_offsets() -> None:
    stages = (Stage(2, 6, 3, window=2), Stage(1, 12, 3, window=2))
    parts = {"class_token": False, "read_out": "mean", "classes": 5, "patch_norm": True}
    model = Architecture("windows", (12, 12), 2, stages, border="pad", **parts)  # type: ignore[arg-type]
    done = work(model)
    # a grid of 6 x 6 in 9 windows, then 3 x 3 in 4 windows of which 16 rows are computed
    assert done.softmaxed == 2 * 3 * 36 * 4 + 3 * 16 * 4
    assert done.scaled == 2 * 36 * 6 + 16 * 12
    assert done.output_biases == done.scaled and done.query_biases == 3 * done.scaled
    assert done.mlp_biases == 2 * 36 * 30 + 9 * 60
    assert done.other_norms == 36 * 6 + 9 * 24 + 9 * 12
    assert done.pooled == 9 * 12
    offset = replace(model, position="continuous relative", post_norm=True)
    after = work(offset)
    assert after.offset_biases == 3 * 9 * 512 == after.activated - done.activated
    assert after.offsets == 3 * 9 * (1024 + 3 * 512)
    assert after.other_norms == 36 * 6 + 9 * 12 + 9 * 12


@pytest.mark.parametrize("name", sorted(CONVENTIONS))
def test_a_convention_is_linear_in_the_work(name: str) -> None:
    convention, one = CONVENTIONS[name], work(SMALL)
    twice = Work(**{kind: 2 * getattr(one, kind) for kind in KINDS})
    assert convention(twice) == 2 * convention(one)
    units = {
        kind: convention(Work(**{other: int(other == kind) for other in KINDS})) for kind in KINDS
    }
    assert {kind: weight for kind, weight in units.items() if weight} == convention.weights


@given(st.sampled_from(sorted(CONVENTIONS)), st.sampled_from(sorted(CONVENTIONS)))
def test_conversion_and_back(one: str, two: str) -> None:
    done = work(SMALL)
    count = operations(SMALL, one)
    assert convert(count, one, two, done) == operations(SMALL, two)
    assert convert(convert(count, one, two, done), two, one, done) == count
    assert one in matching(count, done)


def test_a_count_of_another_model_is_refused_with_the_remainder() -> None:
    done = work(SMALL)
    count = operations(SMALL, "macs")
    with pytest.raises(ValuesError, match=rf"gives of this work, got {count}, off by -"):
        convert(count, "flops", "macs", done)
    assert matching(count + 1, done) == ()
    with pytest.raises(UnknownNameError, match="target"):
        convert(count, "macs", "gflops", done)
    with pytest.raises(UnknownNameError, match="source"):
        convert(count, "MACs", "macs", done)
    with pytest.raises(GeometryError, match="count"):
        convert(0.5, "macs", "flops", done)  # type: ignore[arg-type]
    with pytest.raises(ValuesError, match="work"):
        CONVENTIONS["macs"](SMALL)  # type: ignore[arg-type]


def test_weights_that_are_none() -> None:
    with pytest.raises(UnknownNameError, match="kind"):
        Convention({"maps": 1})
    with pytest.raises(GeometryError, match=r"weight of mlp: expected an integer >= 1, got 0\.5"):
        Convention({"mlp": 0.5})  # type: ignore[dict-item]
    with pytest.raises(ValuesError, match="at least one kind"):
        Convention({"mlp": 1}).without("mlp")
    with pytest.raises(ValuesError, match="a mapping"):
        Convention(["mlp"])  # type: ignore[arg-type]
    assert Convention({"mlp": 1}).plus(2, ["mlp", "patches"]).weights == {"mlp": 3, "patches": 2}


def test_the_released_function_of_swin() -> None:
    """Recorded values; and the two habits that make them differ from macs with norms of weight 1."""
    assert released_swin_operations(published("Swin-T")) == 4_494_405_120
    with_norms = CONVENTIONS["macs"].plus(1, NORMS)
    for name in ("Swin-T", "Swin-S", "Swin-B", "Swin-L", "Swin-B@384"):
        model = published(name)
        last = model.layout[-1][0]
        excess = Fraction(model.patches * last.width, 16) - last.tokens * last.width
        assert released_swin_operations(model) == with_norms(work(model)) + excess
    larger = replace(published("Swin-T"), image_px=(256, 256), border="pad")
    assert released_swin_operations(larger) == 5_870_008_320
    assert operations(larger, "macs") == 7_345_441_536
    for model in (SMALL, published("ViT-B/16")):
        with pytest.raises(ValuesError, match="windows in every stage"):
            released_swin_operations(model)


def test_a_norm_of_the_mean_needs_a_mean() -> None:
    with pytest.raises(ValuesError, match="pooled_norm: expected False without a final norm"):
        replace(SMALL, pooled_norm=True)
    with pytest.raises(ValuesError, match="pooled_norm"):
        replace(SMALL, read_out="mean", final_norm=False, pooled_norm=True)
