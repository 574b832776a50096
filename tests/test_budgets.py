"""Budgets against exhaustive search, recorded counts of tools, and arithmetic in fractions."""

from fractions import Fraction
from typing import Any

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from vitbias.budgets import (
    CONVENTIONS,
    Convention,
    Ledger,
    Match,
    convert,
    ledger,
    match_width,
    normalised_values,
    ratios,
)
from vitbias.counts import attention_bytes, macs, vit_macs, vit_params
from vitbias.errors import GeometryError, UnknownNameError, ValuesError
from vitbias.readers.catalogue import published

# recorded: torch 2.13.0, timm 1.0.31, fvcore 0.1.5.post20221221, calflops 0.3.2
RECORDED = {
    "ViT-Ti/16": (2507366400, 2149702656, 1074851328, 1258411200, 1079579328),
    "ViT-S/16": (9197764608, 8482437120, 4241218560, 4608338304, 4250674560),
    "ViT-B/16": (35127656448, 33697001472, 16848500736, 17582740224, 16867412736),
    "ViT-L/16": (123109425152, 119294345216, 59647172608, 61604135936, 59696595968),
    "ViT-B/32": (8818372608, 8726212608, 4363106304, 4413986304, 4367906304),
    "ViT-B/16@384": (110968700928, 98695606272, 49347803136, 55539742464, 49403195136),
    "DeiT-B distilled": (35313623040, 33868406784, 16934203392, 17675819520, 16953211392),
}
NAMES = (
    "flops",
    "flops without products",
    "macs without products",
    "macs and norms",
    "macs and norms without products",
)
RUN: dict[str, Any] = {
    "params": 101,
    "macs": 7,
    "tokens": 5,
    "attention_bytes": 11,
    "images": 103,
    "epochs": 3,
    "batch": 10,
}


@pytest.mark.parametrize("name", RECORDED)
def test_tools_disagree_by_convention_only(name: str) -> None:
    model = published(name)
    parts = macs(model)
    known = {
        "products": parts.pairs,
        "normalised": normalised_values(model.tokens, model.width, model.depth),
    }
    for convention, recorded in zip(NAMES, RECORDED[name], strict=True):
        assert convert(parts.total, "macs", convention, **known) == recorded
        assert convert(recorded, convention, "macs", **known) == parts.total


def test_normalised_values_by_going_through_the_blocks() -> None:
    norms = [3 * 5 for _ in range(7) for _ in ("attention", "mlp")] + [3 * 5]
    assert normalised_values(3, 5, 7) == sum(norms)


@given(
    st.integers(1, 10**12),
    st.sampled_from(sorted(CONVENTIONS)),
    st.sampled_from(sorted(CONVENTIONS)),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
)
def test_conversion_and_back(linear: int, one: str, two: str, products: int, norms: int) -> None:
    known = {"products": products, "normalised": norms}
    start = convert(linear + products, "macs", one, **known)
    assert convert(convert(start, one, two, **known), two, one, **known) == start


def test_conversion_of_symbols() -> None:
    n = sp.Symbol("n", positive=True, integer=True)
    p = sp.Symbol("p", positive=True, integer=True)
    assert sp.expand(convert(n, "macs", "flops", products=p) - 2 * n) == 0
    assert sp.expand(convert(n, "macs", "flops without products", products=p) - 2 * (n - p)) == 0


def test_a_convention_says_what_it_counts() -> None:
    assert CONVENTIONS["flops"] == Convention(per_mac=2, products=True, per_normalised=0)
    assert convert(13, "macs", "flops") == 26
    assert convert(13, "macs", "macs without products", products=5) == 8
    assert convert(13, "macs", "macs and norms", normalised=2) == 23


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((7, "flops", "macs"), "count without norms: expected a multiple of 2"),
        ((0, "macs", "flops"), "count: expected an integer >= 1"),
    ],
)
def test_counts_that_a_convention_cannot_have(arguments: Any, message: str) -> None:
    with pytest.raises(GeometryError, match=message):
        convert(*arguments)


def test_more_products_than_operations() -> None:
    with pytest.raises(GeometryError, match="count without norms and products"):
        convert(7, "macs", "flops", products=8)
    with pytest.raises(GeometryError, match="count without norms"):
        convert(7, "macs and norms", "macs", normalised=2)
    with pytest.raises(UnknownNameError, match="target"):
        convert(7, "macs", "gflops")
    with pytest.raises(UnknownNameError, match="source"):
        convert(7, "MACs", "macs")


@settings(max_examples=60)
@given(
    st.integers(1, 5),
    st.integers(1, 9),
    st.integers(0, 11),
    st.integers(1, 7),
    st.integers(0, 40_000),
)
def test_matched_width_against_exhaustive_search(
    a: int, b: int, c: int, step: int, more: int
) -> None:
    def count(width: int) -> int:
        return a * width**2 + b * width + c

    target = count(step) + more
    widths = range(step, 300 * step, step)
    best = min(widths, key=lambda width: (abs(count(width) - target), width))
    assert match_width(count, target, step=step) == Match(best, count(best), target)


def test_matched_widths_of_the_chapter() -> None:
    def params(width: int) -> int:
        return int(vit_params(49, 3072, width, 12, 1000))

    def work(width: int) -> int:
        return int(vit_macs(49, 3072, width, 12, 1000))

    by_macs = match_width(work, vit_macs(196, 768, 768, 12, 1000))
    assert by_macs.width == 1547
    assert abs(by_macs.ratio - 1) < Fraction(1, 1000)
    assert match_width(params, 86_567_656).width == 761
    assert match_width(work, by_macs.target, step=64).width == 1536


def test_of_two_equally_near_the_smaller() -> None:
    assert match_width(lambda d: 2 * d, 7) == Match(3, 6, 7)
    assert match_width(lambda d: 2 * d, 2) == Match(1, 2, 2)


def test_targets_and_counts_that_cannot_be_matched() -> None:
    with pytest.raises(GeometryError, match="target: expected at least the count at width 3, 30"):
        match_width(lambda d: 10 * d, 29, step=3)
    with pytest.raises(ValuesError, match="function: expected a function"):
        match_width(7, 29)  # type: ignore[arg-type]
    with pytest.raises(ValuesError, match="more than 5"):
        match_width(lambda d: 5, 29)
    with pytest.raises(ValuesError, match="more than"):  # falls between two widths that were called
        match_width(lambda d: 1 if d == 3 else d**2, 15)
    assert match_width(lambda d: d, 2**24).width == 2**24
    with pytest.raises(ValuesError, match="to reach 16777217"):
        match_width(lambda d: d, 2**24 + 1)
    with pytest.raises(GeometryError, match="count"):
        match_width(lambda d: d / 2, 29)  # type: ignore[arg-type, return-value]
    with pytest.raises(GeometryError, match="step"):
        match_width(lambda d: d, 29, step=0)


def test_ledger_by_going_through_the_batches() -> None:
    for rule in ("drop", "keep"):
        steps = images = 0
        for _ in range(3):
            sizes = [len(range(i, min(i + 10, 103))) for i in range(0, 103, 10)]
            sizes = sizes if rule == "keep" else [size for size in sizes if size == 10]
            steps, images = steps + len(sizes), images + sum(sizes)
        found = ledger(**RUN, last_batch=rule, teacher_macs=4)
        assert found == Ledger(101, 11, steps, images, 5 * images, 42 * images, 8 * images)
        assert found.total_flops == 50 * images
        assert found.teacher_share == Fraction(8, 50)
    assert ledger(**RUN).teacher_share == 0


def test_ratios_of_two_ledgers() -> None:
    first, second = ledger(**RUN), ledger(**RUN | {"params": 202, "macs": 21}, teacher_macs=21)
    found = ratios(first, second)
    assert found["params"] == Fraction(1, 2)
    assert found["student_flops"] == Fraction(1, 3)
    assert found["total_flops"] == Fraction(1, 4)
    assert found["steps"] == found["images"] == found["tokens"] == found["attention_bytes"] == 1
    with pytest.raises(ValuesError, match="second"):
        ratios(first, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("field", [*RUN, "teacher_macs"])
@pytest.mark.parametrize("bad", [-1, 1.5, True, "7"])
def test_sizes_of_a_run_that_are_none(field: str, bad: Any) -> None:
    with pytest.raises(GeometryError, match=field):
        ledger(**RUN | {field: bad})


def test_a_run_that_takes_no_step() -> None:
    with pytest.raises(GeometryError, match="batch: expected at most 103, got 104"):
        ledger(**RUN | {"batch": 104})
    assert ledger(**RUN | {"batch": 103}).steps == 3
    assert ledger(**RUN | {"batch": 104}, last_batch="keep").steps == 3
    with pytest.raises(UnknownNameError, match="last_batch"):
        ledger(**RUN, last_batch="pad")


def test_bytes_of_the_two_patch_sizes() -> None:
    assert attention_bytes(197, 12, 12, 2) / attention_bytes(50, 12, 12, 2) == (197 / 50) ** 2


@pytest.mark.parametrize("value", [0, -1, 2.5, True, float("nan"), None, "3"])
def test_a_ledger_holds_positive_counts_so_that_ratios_exist(value):
    with pytest.raises(GeometryError, match=r"^steps: expected an integer >= 1, got "):
        Ledger(3, 5, value, 7, 11, 13, 0)
    with pytest.raises(GeometryError, match=r"^teacher_flops: expected an integer >= 0, got -1"):
        Ledger(3, 5, 2, 7, 11, 13, -1)
    assert Ledger(3, 5, 2, 7, 11, 13, 0).teacher_share == 0
