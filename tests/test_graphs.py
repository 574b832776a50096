"""Packed graphs against integer products of dense matrices, and coverage against what was recorded."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vitbias import graphs as packed_graphs
from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.graphs import Dense, Merging, Partition, as_graphs, packed_identity, unpacked
from vitbias.patterns import axial_mask, dilated_mask, with_hubs
from vitbias.reach import (
    compose,
    coverage,
    depth,
    first_global,
    frontier,
    grid_depth,
    path_counts,
    product_depth,
)
from vitbias.windows import attention_mask, groups, window_graph

COVERAGE = json.loads((Path(__file__).parent / "data" / "swin_coverage.json").read_text("utf-8"))


def product(masks):
    """Boolean products of dense matrices, as integers; square masks with the diagonal."""
    reached = np.eye(masks[0].shape[1], dtype=np.int64)
    for mask in masks:
        square = mask.shape[0] == mask.shape[1]
        step = mask | np.eye(*mask.shape, dtype=bool) if square else mask
        reached = (step.astype(np.int64) @ reached > 0).astype(np.int64)
    return reached > 0


def random_mask(rng, queries, keys, share):
    mask = rng.random((queries, keys)) < share
    mask[np.arange(queries), rng.integers(0, keys, queries)] = True
    return mask


@pytest.mark.parametrize("share", [0.01, 0.3, 0.97])
@pytest.mark.parametrize("tokens", [1, 7, 64, 65, 131])
@pytest.mark.parametrize("few", [0, 3, 512])
def test_dense_masks_either_way(rng, monkeypatch, tokens, share, few):
    """Key by key and by groups of eight, with chunks and batches that do not fit."""
    monkeypatch.setattr(packed_graphs, "FEW_KEYS", few)
    monkeypatch.setattr(packed_graphs, "CHUNK", 29)
    monkeypatch.setattr(packed_graphs, "BATCH", 3)
    masks = [
        random_mask(rng, tokens, tokens, share),
        random_mask(rng, 37, tokens, share),
        random_mask(rng, 37, 37, share),
    ]
    for number in range(1, 4):
        assert (compose(masks[:number]) == product(masks[:number])).all()


LABELS = st.lists(st.integers(-3, 5), min_size=70, max_size=70)


@settings(max_examples=40)
@given(
    st.lists(LABELS, min_size=1, max_size=4), st.lists(st.integers(0, 4), min_size=65, max_size=65)
)
def test_partitions_and_a_merging(lines, merged):
    steps = [Partition(np.array(labels)) for labels in lines]
    labels = np.array([0, 1, 2, 3, 4, *merged])
    chain = [*steps, Merging(labels), Partition(np.array([0, 1, 0, 2, 2]))]
    dense = [step.mask() for step in chain]
    assert (compose(chain) == product(dense)).all()
    assert (compose(chain) == compose(dense)).all()
    assert (compose(chain) == (path_counts(chain) > 0)).all()
    for token in (0, 69):
        column = [compose(chain[: n + 1])[:, token] for n in range(len(steps))]
        assert (frontier(steps, token)[1:] == column).all()


def test_merged_tokens_are_the_union_of_their_parts():
    graph = Merging(np.array([1, 0, 1, 2, 0]))
    assert graph.sizes == (3, 5)
    assert graph.mask().astype(int).tolist() == [[0, 1, 0, 0, 1], [1, 0, 1, 0, 0], [0, 0, 0, 1, 0]]
    assert graph.heard(np.array([True, False, False, False, False])).tolist() == [
        False,
        True,
        False,
    ]
    # global attention among three tokens, then nothing is left to reach
    assert first_global([graph, Partition(np.zeros(3, int))]) == 1
    assert first_global([graph]) is None and first_global([Merging(np.zeros(5, int))]) == 0


@pytest.mark.parametrize("side", [14, 28, 56])
@pytest.mark.parametrize("kind", ["masked", "cyclic"])
def test_recorded_coverage_of_released_windows(side, kind):
    steps = [window_graph(side, side, 7, cut, wrap=kind == "cyclic") for cut in (0, 3)]
    recorded = COVERAGE[f"{kind}_g{side}"]
    found = coverage([steps[n % 2] for n in range(len(recorded))])
    tokens = side**2
    assert [[row.least * tokens, row.mean * tokens, row.most * tokens] for row in found] == [
        [least, Fraction(mean), most] for least, mean, most in recorded
    ]
    assert depth(steps) == first_global([steps[n % 2] for n in range(99)]) == len(recorded)


@pytest.mark.parametrize("sizes", [(6, 10, 2, 1), (9, 6, 3, 2), (4, 8, 4, 3)])
@pytest.mark.parametrize("wrap", [False, True])
def test_a_grid_is_the_product_of_any_two_lines(sizes, wrap):
    height, width, window, shift = sizes
    lines = [
        [Partition(groups(side, window, cut, wrap=wrap)) for cut in (0, shift)]
        for side in (height, width)
    ]
    masks = [attention_mask(height, width, window, cut, wrap=wrap) for cut in (0, shift)]
    assert product_depth(*lines) == depth(masks) is not None
    if not wrap:
        assert product_depth(*lines) == grid_depth(height, width, window, shift)
    for cut, mask in zip((0, shift), masks, strict=True):
        assert (window_graph(height, width, window, cut, wrap=wrap).mask() == mask).all()


def test_products_of_other_lines(rng):
    rows = [random_mask(rng, 5, 5, 0.2) for _ in range(2)]
    columns = [random_mask(rng, 7, 7, 0.1) for _ in range(2)]
    with_paths = [[m | np.eye(len(m), dtype=bool) for m in line] for line in (rows, columns)]
    grid = [np.kron(one, two) for one, two in zip(*with_paths, strict=True)]
    assert product_depth(rows, columns) == depth(grid)
    with pytest.raises(
        ShapeError, match="rows and columns: expected equally many masks, got 2 and 1"
    ):
        product_depth(rows, columns[:1])
    with pytest.raises(ShapeError, match="as many queries as keys"):
        product_depth([rows[0][:3]], columns[:1])


def test_patterns_and_hubs():
    tokens = 7 * 9
    chain = [axial_mask(7, 9), dilated_mask(7, 9, 3)]
    assert (compose(chain) == product(chain)).all() and depth([axial_mask(7, 9)]) == 2
    hubs = with_hubs(window_graph(7, 9, 3, border="ragged").mask(), 2)
    assert depth([hubs]) == 2 and len(hubs) == tokens + 2
    assert coverage([hubs])[0].most == 1


def test_bits_are_in_order():
    packed = packed_identity(130)
    assert packed.shape == (130, 3)
    assert (unpacked(packed, 130) == np.eye(130, dtype=bool)).all()


def test_labels_are_names_only_and_stay_as_they_are():
    given = np.array([9, -4, 9, 100])
    step = Partition(given)
    given[0] = 7
    assert step.labels.tolist() == [1, 0, 1, 2] and not step.labels.flags.writeable
    assert isinstance(as_graphs("masks", [step.mask()])[0], Dense)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: Partition(np.ones((2, 2), int)), ShapeError, "labels: expected axes (tokens)"),
        (lambda: Partition(np.array([0.0, 1.0])), ValuesError, "labels: expected integers"),
        (
            lambda: Merging(np.array([0, 2, 2])),
            ValuesError,
            "labels: expected 0 to M - 1, each present, got none with label 1",
        ),
        (
            lambda: Merging(np.array([0, -1])),
            ValuesError,
            "labels: expected 0 to M - 1, each present, got a negative one",
        ),
        (
            lambda: compose([Partition([0, 1]), Partition([0, 1, 1])]),
            ShapeError,
            "masks: expected a block of 2 tokens, got 3",
        ),
        (
            lambda: compose([Partition(np.zeros(2**15 + 1, int))]),
            GeometryError,
            "masks: expected at most 32,768 tokens, got 32769",
        ),
        (
            lambda: path_counts([Partition(np.zeros(4097, int))]),
            GeometryError,
            "masks: expected at most 4,096 tokens, got 4097",
        ),
        (
            lambda: depth([Merging([0, 0, 1])]),
            ShapeError,
            "mask: expected as many queries as keys, got shape (2, 3)",
        ),
        (
            lambda: frontier([Merging([1, 0])], 0),
            ShapeError,
            "mask: expected as many queries as keys",
        ),
        (lambda: coverage([]), ShapeError, "masks: expected at least one mask"),
    ],
)
def test_what_is_refused(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(message)
