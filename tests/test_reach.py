"""Reach on masks and on lines, against walks through the graph, step by step."""

from time import process_time

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import GeometryError, ShapeError, UnknownNameError, ValuesError
from vitbias.exact_attention import exact_attention
from vitbias.patterns import causal_mask, local_mask, with_hubs
from vitbias.reach import (
    compose,
    depth,
    frontier,
    grid_depth,
    line_depth,
    line_reach,
    path_counts,
    shifted_depth,
)
from vitbias.windows import attention_mask, groups

SIZES = st.tuples(st.integers(2, 31), st.integers(2, 8)).flatmap(
    lambda sizes: st.tuples(*map(st.just, sizes), st.integers(1, sizes[1] - 1))
)
ORDERS = st.sampled_from(["regular", "shifted"])


def line_mask(side, window, shift):
    label = groups(side, window, shift, border="ragged")
    return label[:, None] == label


def walk(masks, blocks):
    """Token by token with sets: what each token can depend on after some blocks."""
    reached = [{token} for token in range(len(masks[0]))]
    for block in range(blocks):
        mask = masks[block % len(masks)]
        reached = [
            reached[query].union(*(reached[key] for key in np.flatnonzero(row)))
            for query, row in enumerate(mask)
        ]
    return reached


def walked_depth(masks, most=200):
    tokens = len(masks[0])
    for blocks in range(most):
        if all(len(reached) == tokens for reached in walk(masks, blocks)):
            return blocks
    return None


def random_mask(rng, queries, keys, share=0.2):
    mask = rng.random((queries, keys)) < share
    mask[:, 0] |= ~mask.any(axis=1)
    return mask


def test_composition_is_the_integer_product(rng):
    masks = [random_mask(rng, 13, 13), random_mask(rng, 5, 13), random_mask(rng, 5, 5)]
    eye = [np.eye(13, dtype=int), np.zeros((5, 13), int), np.eye(5, dtype=int)]
    product = np.eye(13, dtype=int)
    for mask, residual in zip(masks, eye, strict=True):
        product = np.maximum(mask, residual) @ product
    assert np.array_equal(compose(masks), product > 0)
    assert np.array_equal(path_counts(masks).astype(int), product)
    assert compose(masks).dtype == bool and compose(masks).shape == (5, 13)


def test_composition_of_square_masks_is_a_walk(rng):
    masks = np.array([random_mask(rng, 17, 17, 0.07) for _ in range(3)])
    reached = walk(masks, 3)
    assert [set(np.flatnonzero(row)) for row in compose(masks)] == reached
    assert [set(np.flatnonzero(row)) for row in compose(masks.tolist())] == reached


def test_the_first_mask_is_applied_first():
    down = np.array([[1, 0, 0], [1, 0, 0], [0, 0, 1]], bool)  # token 1 reads token 0
    across = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0]], bool)  # token 2 reads token 1
    assert compose([down, across])[2].tolist() == [True, True, True]
    assert compose([across, down])[2].tolist() == [False, True, True]


def test_frontiers_are_columns(rng):
    masks = [random_mask(rng, 11, 11, 0.1) for _ in range(5)]
    found = frontier(masks, 7)
    assert found.shape == (6, 11)
    assert found[0].tolist() == [token == 7 for token in range(11)]
    for blocks in range(1, 6):
        assert np.array_equal(found[blocks], compose(masks[:blocks])[:, 7])


@given(SIZES, ORDERS)
def test_line_depth_three_ways(sizes, first):
    side, window, shift = sizes
    cuts = (0, shift) if first == "regular" else (shift, 0)
    masks = [line_mask(side, window, cut) for cut in cuts]
    found = line_depth(side, window, shift, first=first, border="ragged")
    assert found == depth(masks) == walked_depth(masks)
    assert found == shifted_depth(side, window, shift, first=first)


@pytest.mark.parametrize("first", ["regular", "shifted"])
def test_the_closed_form_everywhere(first):
    for window in range(2, 9):
        for side in range(2, 45):
            for shift in range(1, window):
                walked = line_depth(side, window, shift, first=first, border="ragged")
                assert walked == shifted_depth(side, window, shift, first=first)


@pytest.mark.parametrize(
    ("side", "blocks"), [(14, 3), (21, 5), (28, 7), (42, 11), (56, 15), (112, 31)]
)
def test_published_window(side, blocks):
    assert line_depth(side, 7, 3) == grid_depth(side, side, 7, 3) == blocks
    assert line_depth(side, 7, 3, first="shifted") == blocks + 1


def test_ragged_sixty_four():
    for first in ("regular", "shifted"):
        assert line_depth(64, 7, 3, first=first, border="ragged") == 19
    with pytest.raises(GeometryError, match="side: expected a multiple of the window"):
        line_depth(64, 7, 3)


@given(st.tuples(st.integers(2, 9), st.integers(2, 9), st.integers(2, 4)), ORDERS)
def test_a_grid_is_the_product_of_its_lines(sizes, first):
    height, width, window = sizes
    cuts = (0, 1) if first == "regular" else (1, 0)
    masks = [attention_mask(height, width, window, cut, border="ragged") for cut in cuts]
    found = grid_depth(height, width, window, 1, first=first, border="ragged")
    assert found == depth(masks)
    lines = [[line_mask(side, window, cut) for cut in cuts] for side in (height, width)]
    assert np.array_equal(compose(masks), np.kron(*map(compose, lines)))
    assert (path_counts(masks) == np.kron(*map(path_counts, lines))).all()


@given(SIZES, st.lists(st.booleans(), min_size=1, max_size=9))
def test_intervals_are_the_reach_sets(sizes, kinds):
    side, window, shift = sizes
    cuts = [shift if kind else 0 for kind in kinds]
    low, high = line_reach(np.array([groups(side, window, c, border="ragged") for c in cuts]))
    assert low.shape == high.shape == (len(cuts) + 1, side)
    tokens = np.arange(side)
    for blocks in range(1, len(cuts) + 1):
        dense = compose([line_mask(side, window, cut) for cut in cuts[:blocks]])
        inside = (low[blocks][:, None] <= tokens) & (tokens < high[blocks][:, None])
        assert np.array_equal(dense, inside)


def test_never_is_an_answer():
    regular = line_mask(12, 4, 0)
    assert depth([regular]) is None
    assert depth([regular, regular, regular]) is None
    assert line_depth(12, 4, 0) is None
    assert grid_depth(12, 4, 4, 0) is None
    assert depth([causal_mask(5)]) is None
    assert line_depth(4, 4, 0) == depth([line_mask(4, 4, 0)]) == 1
    assert grid_depth(4, 4, 4, 0) == 1


def test_a_period_may_rest_in_between():
    """Some blocks change nothing, and yet the end comes later."""
    still = np.eye(6, dtype=bool)
    step = local_mask(1, 6, 1)
    assert depth([still, still, step]) == 15
    assert depth([step]) == 5


def test_one_token_needs_no_block():
    assert depth([np.ones((1, 1), bool)]) == line_depth(1, 1, 0) == grid_depth(1, 1, 1, 0) == 0
    assert line_depth(1, 5, 3, border="ragged") == 0


def test_without_its_mask_a_shifted_layer_wraps_and_the_depth_halves():
    for windows in range(2, 8):
        lines = [groups(3 * windows, 3, cut, wrap=True) for cut in (0, 1)]
        masks = [label[:, None] == label for label in lines]
        assert depth(masks) == depth(masks[::-1]) == windows
        assert shifted_depth(3 * windows, 3, 1) == 2 * windows - 1
    with pytest.raises(ValuesError, match=r"labels: expected equal labels side by side.* dense"):
        line_reach(np.array(lines))


def test_reach_is_what_outputs_depend_on(rng):
    """Fractions: a token outside the reach never matters; inside it, these weights notice it."""
    masks = [line_mask(9, 3, cut) for cut in (0, 1)]

    def network(x):
        for mask in masks:
            zero = np.zeros((9, 1), int)
            x = x + exact_attention(zero, zero, x, mask=mask)
        return x

    tokens = rng.integers(-3, 4, (9, 2)).astype(object)
    plain, reach = network(tokens), compose(masks)
    for changed in range(9):
        other = tokens.copy()
        other[changed] += 1
        assert np.array_equal((network(other) != plain).any(axis=1), reach[:, changed])


def test_paths_are_exact_beyond_machine_integers():
    everything = np.ones((13, 13), bool)
    paths = path_counts([everything] * 23)
    assert type(paths[0, 0]) is int
    assert (paths == 13**22).all()
    assert 13**22 > 2**63


def test_a_million_tokens_take_a_moment():
    before = process_time()
    assert grid_depth(994, 1001, 7, 3) == 285
    assert grid_depth(1000, 1000, 7, 3, border="ragged") == 285
    assert process_time() - before < 1


def test_the_closed_form_takes_symbols():
    side, window, shift = sympy.symbols("g w s", positive=True, integer=True)
    formula = shifted_depth(side, window, shift)
    later = shifted_depth(side, window, shift, first="shifted")
    for values in ((64, 7, 3), (56, 7, 3), (3, 5, 4), (3, 5, 2)):
        at = dict(zip((side, window, shift), values, strict=True))
        assert formula.subs(at) == shifted_depth(*values)
        assert later.subs(at) == shifted_depth(*values, first="shifted")
    windows = sympy.Symbol("k", positive=True, integer=True)
    assert shifted_depth(windows * window, window, shift) == 2 * windows - 1


def test_hubs_make_two():
    masks = [with_hubs(attention_mask(8, 8, 2, cut)) for cut in (0, 1)]
    assert depth(masks) == depth(masks[:1]) == 2
    assert depth([with_hubs(causal_mask(7))]) == 2


BAD_MASKS = [
    ([], ShapeError, "masks: expected at least one mask"),
    (5, ShapeError, "masks: expected a sequence, got 5"),
    (np.ones((2, 2), bool), ShapeError, "mask: expected axes (queries, keys)"),
    ([np.ones((2, 2))], ValuesError, "mask: expected booleans"),
    ([np.zeros((2, 2), bool)], ValuesError, "mask: expected an allowed key in every row"),
    ([np.ones((2, 2), bool), np.ones((3, 3), bool)], ShapeError, "mask: expected shape (3, 2)"),
    ([np.ones((0, 2), bool)], ShapeError, "mask: expected axes (queries, keys)"),
]


@pytest.mark.parametrize(("masks", "kind", "message"), BAD_MASKS)
def test_bad_masks(masks, kind, message):
    for function in (compose, depth, path_counts, lambda value: frontier(value, 0)):
        with pytest.raises(kind) as caught:
            function(masks)
        assert str(caught.value).startswith(message)


def test_what_else_is_refused():
    merging = [np.ones((2, 4), bool)]
    for function in (depth, lambda value: frontier(value, 0)):
        with pytest.raises(ShapeError, match="mask: expected as many queries as keys"):
            function(merging)
    with pytest.raises(GeometryError, match="token: expected at most 2, got 3"):
        frontier([np.ones((3, 3), bool)], 3)
    with pytest.raises(ValuesError, match="labels: expected integers"):
        line_reach(np.ones((1, 3)))
    with pytest.raises(ShapeError, match="labels"):
        line_reach(np.ones(3, int))
    with pytest.raises(UnknownNameError, match="first: expected one of 'regular', 'shifted'"):
        line_depth(14, 7, 3, first="second")
    with pytest.raises(UnknownNameError, match="first"):
        shifted_depth(14, 7, 3, first="second")
    with pytest.raises(GeometryError, match=r"side: expected at most 8,192 .* closed form"):
        line_depth(2**15, 8, 4)
    assert shifted_depth(2**15, 8, 4) == 2**13 - 1
    for bad in ((1, 7, 3), (14, 7, 0), (14, 7, 7), (14, 1, 1)):
        with pytest.raises(GeometryError):
            shifted_depth(*bad)
    with pytest.raises(GeometryError, match="window: expected at most the side"):
        line_depth(5, 7, 3)
