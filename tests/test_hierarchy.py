"""Merging by slices, stages by hand, fields by dense products."""

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import GeometryError, ShapeError, UnknownNameError, ValuesError
from vitbias.hierarchy import (
    StageRow,
    fields,
    global_block,
    merge_patches,
    merging_mask,
    merging_nullity,
    stage_table,
)
from vitbias.interface import exact_rank
from vitbias.reach import compose
from vitbias.windows import attention_mask

TINY = (2, 2, 6, 2)


def dense_fields(rows, shifted):
    """Shortest field of every block in rows and columns, from boolean products of dense masks."""
    height, width = rows[0].grid
    reached = np.eye(height * width, dtype=bool)
    found = []
    for number, row in enumerate(rows):
        if number:
            reached = compose([reached, merging_mask(*rows[number - 1].grid)])
        for block in range(row.blocks):
            cut = row.shift if shifted and block % 2 else 0
            mask = attention_mask(*row.grid, row.window, cut, border=row.border)
            reached = compose([reached, mask])
            grids = reached.reshape(-1, height, width)
            found.append(tuple(int(grids.any(axis=a).sum(axis=1).min()) for a in (2, 1)))
    return tuple(found)


@pytest.mark.parametrize("shape", [(4, 6, 3), (2, 3, 6, 4, 5)])
def test_merging_is_four_slices(rng, shape):
    tokens = rng.integers(-99, 99, shape)
    x = np.moveaxis(tokens, (-3, -2), (0, 1))
    parts = [x[0::2, 0::2], x[1::2, 0::2], x[0::2, 1::2], x[1::2, 1::2]]
    expected = np.moveaxis(np.concatenate(parts, axis=-1), (0, 1), (-3, -2))
    merged = merge_patches(tokens)
    assert np.array_equal(merged, expected)
    assert merged.dtype == tokens.dtype


def test_one_square_by_hand():
    assert merge_patches([[[1], [2]], [[3], [4]]]).tolist() == [[[1, 3, 2, 4]]]


def test_odd_sides_need_a_rule(rng):
    tokens = rng.normal(size=(5, 6, 2))
    with pytest.raises(GeometryError, match="height: expected a multiple of 2, got 5"):
        merge_patches(tokens)
    merged = merge_patches(tokens, border="pad")
    assert merged.shape == (3, 3, 8)
    assert (merged[2, :, 2:4] == 0).all() and (merged[2, :, 6:] == 0).all()
    assert np.array_equal(merged[:2], merge_patches(tokens[:4]))
    assert np.array_equal(merge_patches(tokens[:4], border="pad"), merge_patches(tokens[:4]))
    with pytest.raises(UnknownNameError, match="border: expected one of 'pad', got 'drop'"):
        merge_patches(tokens, border="drop")


@given(st.integers(1, 4), st.integers(1, 4))
def test_the_mask_names_the_parts(rows, columns):
    numbers = np.arange(4 * rows * columns).reshape(2 * rows, 2 * columns, 1)
    parts = merge_patches(numbers).reshape(rows * columns, 4)
    mask = merging_mask(2 * rows, 2 * columns)
    assert [set(np.flatnonzero(row)) for row in mask] == [set(row) for row in parts.tolist()]


def test_merging_is_compressive(rng):
    for width in (2, 3, 5):
        weight = rng.integers(-3, 4, (2 * width, 4 * width))
        report = exact_rank(weight)
        assert report.nullity >= merging_nullity(width) == 2 * width
        assert (report.rank < 2 * width) == (report.nullity > 2 * width)
    width = sympy.Symbol("C", positive=True, integer=True)
    assert sympy.simplify(merging_nullity(width) - 2 * width) == 0


def test_swin_t():
    rows = stage_table(224, 4, 96, TINY, 7)
    assert [row.grid for row in rows] == [(56, 56), (28, 28), (14, 14), (7, 7)]
    assert [row.tokens for row in rows] == [3136, 784, 196, 49]
    assert [row.width for row in rows] == [96, 192, 384, 768]
    assert [row.activations for row in rows] == [301_056, 150_528, 75_264, 37_632]
    assert [(row.window, row.shift) for row in rows] == [(7, 3)] * 3 + [(7, 0)]
    assert rows[1].activations == 224 * 224 * 3


@pytest.mark.parametrize(
    ("image", "window", "with_shift", "without"),
    [(224, 7, 7, 11), (384, 12, 7, 11), (448, 7, 11, None)],
)
def test_global_blocks(image, window, with_shift, without):
    rows = stage_table(image, 4, 96, TINY, window)
    assert global_block(rows) == with_shift
    assert global_block(iter(rows), shifted=False) == without


@pytest.mark.parametrize("shifted", [True, False])
def test_swin_t_by_dense_products(shifted):
    rows = stage_table(224, 4, 96, TINY, 7)
    assert fields(rows, shifted=shifted) == dense_fields(rows, shifted)


@given(
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.integers(1, 5),
    st.booleans(),
)
def test_fields_are_dense_products(sides, depths, window, shifted):
    scale = 2 ** (len(depths) - 1)
    image = tuple(2 * scale * side for side in sides)
    try:
        rows = stage_table(image, 2, 3, depths, window)
    except GeometryError:
        rows = stage_table(image, 2, 3, depths, window, border="pad")
    found = fields(rows, shifted=shifted)
    assert found == dense_fields(rows, shifted)
    assert len(found) == sum(depths)
    block = global_block(rows, shifted=shifted)
    assert (block is None) == (rows[0].grid not in found)
    assert block is None or found[block - 1] == rows[0].grid != (*found, 0)[block - 2]


def test_odd_grids_under_padding():
    rows = stage_table((20, 28), 4, 3, (1, 1, 1), 2, border="pad")
    assert [row.grid for row in rows] == [(5, 7), (3, 4), (2, 2)]
    assert fields(rows) == ((1, 1), (1, 3), (5, 7))
    with pytest.raises(GeometryError):
        stage_table((20, 28), 4, 3, (1, 1, 1), 2)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (dict(image_px=(224, 224, 3)), ShapeError, "image_px: expected one side or two, got 3"),
        (dict(image_px=225), GeometryError, "height: expected a multiple of 4, got 225"),
        (dict(image_px=256), GeometryError, "side: expected a multiple of the window, 7"),
        (dict(image_px=2**40), GeometryError, "stages: expected at most 16,384 tokens a side"),
        (dict(depths=()), ShapeError, "depths: expected at least one stage"),
        (dict(depths=(1025,)), GeometryError, "stages: expected at most 16,384 tokens a side"),
        (dict(depths=(2, 0)), GeometryError, "depths: expected an integer >= 1, got 0"),
        (dict(depths=(1,) * 5), GeometryError, "height: expected a multiple of 2, got 7"),
        (dict(border="ragged"), UnknownNameError, "border: expected one of 'pad'"),
    ],
)
def test_refused_tables(change, kind, message):
    sizes = dict(image_px=224, patch_px=4, width=96, depths=TINY, window=7)
    with pytest.raises(kind) as caught:
        stage_table(**sizes | change)
    assert str(caught.value).startswith(message)


def test_refused_rows():
    with pytest.raises(ShapeError, match="rows: expected at least one stage"):
        fields([])
    with pytest.raises(ValuesError, match="rows: expected an instance of StageRow"):
        global_block([3])
    with pytest.raises(ValuesError, match="shifted: expected an instance of bool"):
        fields(stage_table(8, 2, 3, (1,), 2), shifted=1)
    with pytest.raises(ShapeError, match="grid: expected rows and columns"):
        StageRow((4,), 3, 1, 2, 0)
    with pytest.raises(GeometryError, match="blocks"):
        StageRow((4, 4), 3, 0, 2, 0)
    uneven = [StageRow((4, 4), 3, 1, 2, 0), StageRow((4, 4), 3, 1, 2, 0)]
    with pytest.raises(ValuesError, match="rows: expected stages that halve the grid"):
        fields(uneven)
    with pytest.raises(GeometryError, match="tokens: expected at most 16,777,216 entries"):
        merging_mask(2**10, 2**10)


@pytest.mark.parametrize("kind", [list, np.array, lambda pair: [np.uint8(side) for side in pair]])
def test_a_row_holds_plain_integers_whatever_it_was_made_of(kind):
    made = StageRow(kind((200, 200)), np.uint8(96), np.uint8(5), np.uint8(100), np.uint8(50))
    plain = StageRow((200, 200), 96, 5, 100, 50)
    assert made == plain and type(made.grid) is tuple
    assert (made.tokens, made.activations) == (40_000, 3_840_000)
    assert global_block([made]) == global_block([plain]) == 3
