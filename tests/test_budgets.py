"""Budgets against exhaustive search and arithmetic in fractions."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vitbias.architecture import plain_vit
from vitbias.budgets import (
    Comparison,
    Ledger,
    Match,
    compare,
    fit,
    ledger,
    match_depth,
    match_width,
    ratios,
)
from vitbias.conventions import operations
from vitbias.counts import attention_bytes, params, vit_macs, vit_params
from vitbias.errors import GeometryError, UnknownNameError, ValuesError
from vitbias.readers.catalogue import published

RUN: dict[str, Any] = {
    "params": 101,
    "macs": 7,
    "tokens": 5,
    "attention_bytes": 11,
    "images": 103,
    "epochs": 3,
    "batch": 10,
}


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
    assert by_macs.size == 1547
    assert abs(by_macs.ratio - 1) < Fraction(1, 1000)
    assert match_width(params, 86_567_656).size == 761
    assert match_width(work, by_macs.target, step=64).size == 1536


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
    assert match_width(lambda d: d, 2**24).size == 2**24
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


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 9_000))
def test_matched_depth_against_exhaustive_search(each: int, more: int, above: int) -> None:
    def count(depth: int) -> int:
        return each * depth + more

    target = count(1) + above
    best = min(range(1, 9_100), key=lambda depth: (abs(count(depth) - target), depth))
    assert match_depth(count, target) == Match(best, count(best), target)


def test_depths_that_cannot_be_matched() -> None:
    with pytest.raises(GeometryError, match="at least the count at depth 1, 5"):
        match_depth(lambda blocks: 5 * blocks, 4)
    with pytest.raises(ValuesError, match="to reach 65537, got 65536 at depth 65536"):
        match_depth(lambda blocks: blocks, 2**16 + 1)
    with pytest.raises(ValuesError, match="function: expected a function of a depth"):
        match_depth(None, 4)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", ["params", "macs", "flops", "macs and norms"])
@pytest.mark.parametrize("by", ["width", "depth"])
def test_a_fitted_model_is_the_nearest_of_its_neighbours(budget: str, by: str) -> None:
    start = plain_vit(56, 7, 3 * 11, 5, 11, 13)

    def count(model: Any) -> int:
        return params(model).total if budget == "params" else operations(model, budget)

    target = 7 * count(start)
    found = fit(start, budget, target, by=by)
    model = found.architecture
    assert (model.width, model.depth) == (
        (found.match.size, 5) if by == "width" else (33, found.match.size)
    )
    assert found.match.count == count(model) and found.match.target == target
    step = 11 if by == "width" else 1
    for size in (found.match.size - step, found.match.size + step):
        sizes = (size, 5) if by == "width" else (33, size)
        other = plain_vit(56, 7, *sizes, 11, 13)
        assert abs(count(other) - target) > abs(found.match.count - target)


def test_stages_keep_their_ratios_and_hidden_widths_stay_whole() -> None:
    swin = fit(published("Swin-T"), "params", 87_768_224).architecture
    assert [stage.width for stage in swin.stages] == [171, 342, 684, 1368]
    assert [stage.heads for stage in swin.stages] == [3, 6, 12, 24]
    odd = published("timm:vit_so400m_patch14_siglip_224")  # hidden 4304 of 1152
    wider = fit(odd, "macs", 2 * operations(odd, "macs")).architecture
    assert wider.width % 144 == 0 and wider.stages[0].hidden * 1152 == 4304 * wider.width


def test_what_cannot_be_fitted() -> None:
    with pytest.raises(ValuesError, match="architecture: expected one stage"):
        fit(published("Swin-T"), "macs", 10**10, by="depth")
    with pytest.raises(UnknownNameError, match="budget"):
        fit(published("ViT-B/16"), "parameters", 10**8)
    with pytest.raises(UnknownNameError, match="by"):
        fit(published("ViT-B/16"), "params", 10**8, by="heads")
    with pytest.raises(GeometryError, match="target: expected at least the count at width 12"):
        fit(published("ViT-B/16"), "params", 5)


def test_a_comparison_by_hand() -> None:
    plain, taught = ledger(**RUN), ledger(**RUN, teacher_macs=2)
    found = compare(taught, plain, tolerance=Fraction(1, 100))
    assert found.unmatched == ("total_flops",) and "student_flops" in found.matched
    assert found.ratios["total_flops"] == Fraction(46, 42)
    assert found.sentence("taught", "plain") == (
        "A different outcome of taught and plain is one at equal parameters, bytes of score maps, "
        "optimiser steps, pictures seen, tokens seen and the student's operations, within 1 %; "
        "it may come from operations with the teacher's (1.095 to 1)."
    )
    wide = compare(taught, plain, tolerance=Fraction(4, 42))
    assert wide.unmatched == () and wide.sentence("A", "B").endswith(
        "none of these explains a different outcome."
    )
    assert compare(plain, taught, tolerance=Fraction(4, 42)).unmatched == ()
    assert compare(plain, taught, tolerance=Fraction(3, 42)).unmatched == ("total_flops",)
    assert compare(plain, plain, tolerance=0).sentence("A", "B").startswith("A and B agree exactly")


def test_nothing_matched_licenses_nothing() -> None:
    one = Ledger(3, 5, 7, 11, 13, 17, 0)
    two = Ledger(6, 10, 14, 22, 26, 34, 0)
    said = compare(one, two, tolerance=Fraction(1, 2)).sentence("A", "B")
    assert said.startswith("A and B agree within 50 % in no budget; a different outcome may come")
    assert said.count("(0.5 to 1)") == 7
    assert compare(one, two, tolerance=1).unmatched == ()


@pytest.mark.parametrize("bad", [-1, 0.01, "1", None, True, float("nan")])
def test_tolerances_that_are_none(bad: Any) -> None:
    one = Ledger(3, 5, 7, 11, 13, 17, 0)
    with pytest.raises(ValuesError, match="tolerance: expected a fraction or an integer >= 0"):
        compare(one, one, tolerance=bad)
    with pytest.raises(ValuesError, match="second: expected a name"):
        Comparison({"params": Fraction(1)}, Fraction(0)).sentence("A", " ")
