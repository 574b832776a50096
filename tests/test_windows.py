"""Windows against loops over pairs of tokens, and against what released Swin code computed."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import GeometryError, ShapeError, UnknownNameError, ValuesError, VitbiasError
from vitbias.windows import (
    attention_mask,
    global_pairs,
    groups,
    merge,
    padded_pairs,
    partition,
    query_pairs,
    ragged_pairs,
    released_mask,
    require_window,
    shift,
    shifted_pairs,
    swin_window,
    window_pairs,
)

DATA = Path(__file__).parent / "data"
RELEASED = np.load(DATA / "swin_windows.npz")
GRIDS = (14, 28, 56)

# a window that divides the grid, and a shift
TILINGS = st.tuples(st.integers(1, 7), st.integers(1, 7)).flatmap(
    lambda pair: st.tuples(
        st.just(pair[0] * pair[1]), st.just(pair[0]), st.integers(0, pair[0] - 1)
    )
)
ANY = st.tuples(st.integers(1, 29), st.integers(1, 12)).flatmap(
    lambda pair: st.tuples(st.just(pair[0]), st.just(pair[1]), st.integers(0, pair[1] - 1))
)


def together(i, k, window, s):
    """Do positions i and k of a line lie between the same two cuts s, s + w, … ?"""
    low, high = sorted((i, k))
    return not any((cut - s) % window == 0 for cut in range(low + 1, high + 1))


def line_pairs(side, window, s):
    return sum(together(i, k, window, s) for i, k in product(range(side), repeat=2))


def same_classes(one, two):
    """Do two labellings part the tokens alike, whatever the labels are?"""
    pairs = {*zip(one.tolist(), two.tolist(), strict=True)}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def of_grid(label):
    return (label[:, None] * (len(label) + 1) + label).ravel()


@given(ANY)
def test_groups_against_cuts(sizes):
    side, window, s = sizes
    for rule in ("ragged", "pad"):
        label = groups(side, window, s, border=rule)
        assert label.shape == (side,)
        for i, k in product(range(side), repeat=2):
            assert (label[i] == label[k]) == together(i, k, window, s)
        assert label[0] == 0
        assert set(np.diff(label)) <= {0, 1}


@given(TILINGS)
def test_wrapped_groups_join_the_first_part_and_the_last(sizes):
    side, window, s = sizes
    label, closed = groups(side, window, s), groups(side, window, s, wrap=True)
    joined = np.where(label == label[-1], 0, label) if s else label
    assert same_classes(closed, joined)
    assert (np.bincount(closed) == window).all()


def test_enormous_windows_are_one_group():
    for window, s in ((2**80, 0), (2**80, 2**79), (10**5000, 3)):
        expected = [0] * 5 if s != 3 else [0, 0, 0, 1, 1]
        assert groups(5, window, s, border="ragged").tolist() == expected
    assert ragged_pairs(5, 10**5000, 3) == (9 + 4) ** 2
    assert ragged_pairs(5, 2**80, 2**79) == 5**4


@given(ANY, st.integers(1, 11), st.booleans())
def test_a_mask_against_the_loop_over_pairs(sizes, width, wrap):
    height, window, s = sizes[0] % 11 + 1, sizes[1], sizes[2]
    if wrap:
        height, width = window * (height % 3 + 1), window
        if height * width > 200:
            return
    mask = attention_mask(height, width, window, s, border="ragged", wrap=wrap)
    tokens = list(product(range(height), range(width)))
    rows, columns = (groups(n, window, s, border="ragged", wrap=wrap) for n in (height, width))
    expected = [
        [rows[i] == rows[k] and columns[j] == columns[m] for k, m in tokens] for i, j in tokens
    ]
    assert mask.dtype == bool
    assert mask.tolist() == expected
    assert mask.diagonal().all()
    assert (mask == mask.T).all()


@given(ANY)
def test_the_counts_against_enumeration(sizes):
    side, window, s = sizes
    assert ragged_pairs(side, window, s) == line_pairs(side, window, s) ** 2
    assert ragged_pairs(side, window) == line_pairs(side, window, 0) ** 2
    starts = range(0, side, window)
    assert padded_pairs(side, window) == sum(window**4 for _ in product(starts, repeat=2))
    assert query_pairs(side, window) == sum(window**2 for _ in range(side**2))
    assert ragged_pairs(side, window) <= query_pairs(side, window) <= padded_pairs(side, window)
    equal = ragged_pairs(side, window) == padded_pairs(side, window)
    assert equal == (side % window == 0)
    tokens = side * window
    keys = sum(min(tokens, window * window) for _ in range(tokens))
    assert window_pairs(tokens, window) == keys
    assert global_pairs(tokens) == len([*product(range(tokens), repeat=2)])


@given(TILINGS)
def test_valid_pairs_of_a_shifted_layer(sizes):
    side, window, s = sizes
    valid = line_pairs(side, window, s) ** 2
    assert shifted_pairs(side, window, s) == ragged_pairs(side, window, s) == valid
    if side <= 14:
        assert attention_mask(side, side, window, s).sum() == valid
        assert (released_mask(side, side, window, s) == 0).sum() == valid


def test_recorded_counts():
    assert [ragged_pairs(64, 7), query_pairs(64, 7), padded_pairs(64, 7)] == [
        195_364,
        200_704,
        240_100,
    ]
    assert ragged_pairs(24, 7) == 24_336 and padded_pairs(24, 7) == 38_416
    assert [ragged_pairs(16, 7), query_pairs(16, 7), padded_pairs(16, 7)] == [10404, 12544, 21609]
    assert ragged_pairs(64, 7, 3) == 181_476
    assert [shifted_pairs(g, 7, 3) for g in (56, 28, 14)] == [135_424, 29_584, 5_476]
    assert [window_pairs(g**2, 7) for g in (56, 28, 14, 7)] == [153_664, 38_416, 9_604, 2_401]


def test_counts_stay_exact_and_are_python_integers():
    big = 10**40
    assert window_pairs(big, 7) == 49 * 10**40
    assert padded_pairs(7 * big + 1, 7) == (big + 1) ** 2 * 2401
    assert ragged_pairs(7 * big + 1, 7) == (49 * big + 1) ** 2
    small = np.int8(100), np.int8(10)
    for count in (ragged_pairs, query_pairs, padded_pairs):
        assert count(*small) == 100**2 * 10**2
        assert type(count(*small)) is int
    assert shifted_pairs(*small, np.int8(5)) == (25 + 900 + 25) ** 2
    assert window_pairs(*small) == 10_000
    assert released_mask(np.int8(24), np.int8(12), np.int8(12), np.int8(5)).shape == (2, 144, 144)


def test_symbols_give_the_same_formulas():
    g, w, s, n = sp.symbols("g w s n", positive=True, integer=True)
    sizes = [(14, 7, 3), (12, 4, 1), (30, 5, 4), (9, 9, 2)]
    for side, window, cut in sizes:
        at = {g: side, w: window, s: cut, n: side}
        assert shifted_pairs(g, w, s).subs(at) == shifted_pairs(side, window, cut)
        assert ragged_pairs(g, w, s).subs(at) == ragged_pairs(side, window, cut)
        assert window_pairs(n, w).subs(at) == window_pairs(side, window)
    for side, window in ((64, 7), (5, 7), (21, 7)):
        at = {g: side, w: window}
        for count in (ragged_pairs, padded_pairs, query_pairs):
            assert count(g, w).subs(at) == count(side, window)
    assert shifted_pairs(14, 7, s).subs(s, 3) == 5476
    assert global_pairs(n) == n**2
    windows = sp.Symbol("k", positive=True, integer=True)
    by_parts = s**2 + (windows - 1) * w**2 + (w - s) ** 2
    assert sp.expand(shifted_pairs(windows * w, w, s) - by_parts**2) == 0


@pytest.mark.parametrize("side", GRIDS)
def test_the_masks_are_those_of_a_released_swin(side):
    mask = released_mask(side, side, 7, 3)
    allowed = np.unpackbits(RELEASED[f"mask_g{side}"], count=mask.size).reshape(mask.shape)
    assert mask.dtype == np.float32
    assert np.array_equal(mask, np.where(allowed, 0, -100))
    assert allowed.sum() == shifted_pairs(side, 7, 3)
    for name, label in (
        ("regular", groups(side, 7)),
        ("masked", groups(side, 7, 3)),
        ("cyclic", groups(side, 7, 3, wrap=True)),
    ):
        assert same_classes(of_grid(label), RELEASED[f"{name}_g{side}"]), name


@pytest.mark.parametrize(
    ("model", "side", "window"), [("tiny", 56, 7), ("base", 96, 12), ("v2", 64, 8)]
)
def test_every_stage_of_released_models(model, side, window):
    for stage, block in product(range(4), range(2)):
        if f"{model}_s{stage}b{block}" not in RELEASED:
            assert stage == 2
            continue
        here = side >> stage
        w, s = swin_window(here, window, window // 2)
        label = groups(here, w, s if block else 0)
        recorded = RELEASED[f"{model}_s{stage}b{block}"]
        assert same_classes(of_grid(label), recorded), (stage, block)


@pytest.mark.parametrize("side", [10, 16])
def test_ragged_grids_in_two_released_libraries(side):
    """transformers pads first; timm rolls first, which joins opposite borders where w does not divide g."""

    def recorded(library):
        return np.unpackbits(RELEASED[f"{library}_g{side}"], axis=1, count=side**2).astype(bool)

    ours = attention_mask(side, side, 7, 3, border="pad")
    assert np.array_equal(ours, recorded("transformers"))
    assert ours.sum() == ragged_pairs(side, 7, 3)
    rolled = of_grid((np.arange(side) - 3) % side // 7)
    assert np.array_equal(rolled[:, None] == rolled, recorded("timm"))
    assert np.array_equal(ours, recorded("timm")) == (side == 10)


def test_the_recorded_data_say_where_they_come_from():
    provenance = json.loads((DATA / "swin_windows.json").read_text(encoding="utf-8"))
    assert provenance["file"] == "swin_windows.npz"
    assert {"timm", "transformers", "torch"} <= set(provenance["software"])


@given(TILINGS)
def test_partition_shift_and_mask_fit_together(sizes):
    """Two tokens of one rolled window may attend exactly if the dense mask of the grid says so."""
    side, window, s = sizes
    if side > 12:
        return
    number = np.arange(side * side).reshape(side, side, 1)
    placed = partition(shift(number, s), window)[..., 0]
    dense = attention_mask(side, side, window, s)
    for tokens, added in zip(placed, released_mask(side, side, window, s), strict=True):
        assert np.array_equal(dense[np.ix_(tokens, tokens)], added == 0)
    wrapped = attention_mask(side, side, window, s, wrap=True)
    assert wrapped.sum() == sum(len(tokens) ** 2 for tokens in placed)
    assert all(wrapped[np.ix_(tokens, tokens)].all() for tokens in placed)


def test_partition_and_shift_against_loops(rng):
    tokens = rng.integers(-9, 9, (2, 6, 15, 5)).astype(np.int16)
    parts = partition(tokens, 3)
    assert parts.shape == (2, 10, 9, 5) and parts.dtype == np.int16
    for b, row, column, i, j in product(range(2), range(2), range(5), range(3), range(3)):
        there = tokens[b, 3 * row + i, 3 * column + j]
        assert np.array_equal(parts[b, 5 * row + column, 3 * i + j], there)
    assert np.array_equal(merge(parts, 6, 15, 3), tokens)
    for s in (0, 1, 2, -1, 7, 2**80, -(2**80)):
        rolled = shift(tokens, s)
        for i, j in product(range(6), range(15)):
            assert np.array_equal(rolled[:, i, j], tokens[:, (i + s) % 6, (j + s) % 15])
        assert np.array_equal(shift(rolled, -s), tokens)
        assert not np.shares_memory(rolled, tokens)


def test_one_window_is_global_attention_and_windows_of_one_token_are_none():
    assert attention_mask(5, 5, 5).all()
    assert np.array_equal(attention_mask(3, 5, 1), np.eye(15, dtype=bool))
    assert attention_mask(2, 3, 7, border="ragged").all()
    assert not attention_mask(4, 4, 4, 1).all()


def test_swin_drops_the_shift_where_one_window_holds_the_grid():
    assert [swin_window(g, 7, 3) for g in (5, 6, 7, 8, 14)] == [
        (5, 0),
        (6, 0),
        (7, 0),
        (7, 3),
        (7, 3),
    ]
    assert all(type(size) is int for size in swin_window(np.int8(5), np.int8(7), np.int8(3)))
    assert require_window(np.uint8(14), 7) == (14, 7, 0)


TWO_RULES = (
    "window: expected at most the side of the grid, 6, got 7; equation 3 takes min(N, w^2) keys "
    "(window_pairs); Swin takes w = g, s = 0 (swin_window)"
)
NO_RULE = (
    "side: expected a multiple of the window, 7, got 64 (remainder 1); "
    "name a border rule, 'pad' or 'ragged'"
)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: groups(6, 7), GeometryError, TWO_RULES),
        (lambda: shifted_pairs(6, 7, 3), GeometryError, TWO_RULES),
        (lambda: groups(64, 7), GeometryError, NO_RULE),
        (lambda: attention_mask(64, 7, 7), GeometryError, NO_RULE),
        (lambda: groups(64, 7, 3, border="pad", wrap=True), GeometryError, NO_RULE),
        (lambda: released_mask(64, 63, 7, 3), GeometryError, NO_RULE),
        (lambda: released_mask(63, 64, 7, 3), GeometryError, NO_RULE),
        (lambda: shifted_pairs(64, 7, 3), GeometryError, NO_RULE),
        (
            lambda: require_window(14, 7, 7),
            GeometryError,
            "shift: expected less than the window, 7, got 7",
        ),
        (
            lambda: swin_window(7, 7, 7),
            GeometryError,
            "shift: expected less than the window, 7, got 7",
        ),
        (
            lambda: ragged_pairs(14, 7, 7),
            GeometryError,
            "window - shift: expected an integer >= 1, got 0",
        ),
        (
            lambda: shifted_pairs(sp.Symbol("g"), 7, 9),
            GeometryError,
            "window - shift: expected an integer >= 1, got -2",
        ),
        (lambda: groups(14, 7, -1), GeometryError, "shift: expected an integer >= 0, got -1"),
        (lambda: groups(14, 7.0), GeometryError, "window: expected an integer >= 1, got 7.0"),
        (lambda: groups(14, 0), GeometryError, "window: expected an integer >= 1, got 0"),
        (
            lambda: groups(14, 7, border="drop"),
            UnknownNameError,
            "border: expected one of 'pad', 'ragged', got 'drop'",
        ),
        (
            lambda: groups(14, 7, wrap=1),
            ValuesError,
            "wrap: expected an instance of bool, got 1",
        ),
        (
            lambda: groups(2**25, 2),
            GeometryError,
            "side: expected at most 16,777,216 positions, got 33554432",
        ),
        (
            lambda: attention_mask(4097, 1, 1),
            GeometryError,
            "height: expected at most 4,096 tokens, got 4097; labels of a line",
        ),
        (
            lambda: attention_mask(65, 64, 1),
            GeometryError,
            "tokens: expected at most 4,096 tokens, got 4160; labels of a line (groups)",
        ),
        (
            lambda: released_mask(512, 512, 16, 3),
            GeometryError,
            "entries of the mask: expected at most 16,777,216 numbers, got 67108864",
        ),
        (
            lambda: partition(np.ones((64, 63, 2)), 7),
            GeometryError,
            "height: expected a multiple of 7, got 64 (remainder 1)",
        ),
        (
            lambda: partition(np.ones((63, 64, 2)), 7),
            GeometryError,
            "width: expected a multiple of 7, got 64 (remainder 1)",
        ),
        (
            lambda: partition(np.ones((7, 7)), 7),
            ShapeError,
            "tokens: expected axes (..., height, width, values), got shape (7, 7)",
        ),
        (
            lambda: merge(np.ones((4, 9, 2)), 6, 9, 3),
            ShapeError,
            "windows: expected 6 windows of 9 tokens, got 4 windows of 9 tokens",
        ),
        (
            lambda: merge(np.ones((6, 4, 2)), 6, 9, 3),
            ShapeError,
            "windows: expected 6 windows of 9 tokens, got 6 windows of 4 tokens",
        ),
        (lambda: shift(np.ones((2, 2, 1)), 0.5), GeometryError, "s: expected an integer, got 0.5"),
        (
            lambda: shift([["a"]], 1),
            ValuesError,
            "tokens: expected integers or floats, got <U1 values",
        ),
    ],
)
def test_what_is_refused(call, kind, message):
    assert issubclass(kind, VitbiasError)
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(message)
