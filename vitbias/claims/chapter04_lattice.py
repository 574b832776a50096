"""Claim T31 of chapter 4: which translations windows leave, on a torus and inside a border."""

from functools import partial
from math import lcm

import numpy as np

from vitbias.arrays import Array
from vitbias.attention import softmax
from vitbias.automorphisms import automorphisms
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import below, fmt
from vitbias.hierarchy import stage_table
from vitbias.readers.catalogue import published
from vitbias.windows import groups

__all__ = ["CLAIMS", "window_offsets"]


def window_offsets(side: int, window: int, shift: int, *, wrap: bool) -> Array:
    """(N, N) labels of a layer with relative positions: the offset inside a window, -1 outside.

    With ``wrap`` the rolled windows as they are, else parted by the mask of released code.
    """
    inside = (np.arange(side) - shift) % side % window
    offset = inside[:, None] - inside + window - 1
    label = groups(side, window, shift, wrap=wrap)
    together = label[:, None] == label
    both = np.kron(together, together)
    rows = np.kron(offset, np.ones_like(offset))
    columns = np.kron(np.ones_like(offset), offset)
    return np.where(both, rows * (2 * window - 1) + columns, -1)


def _layer(values: Array, labels: Array, table: Array) -> Array:
    """One head whose scores are contents and a bias by offset; tokens read their values."""
    far = -1e6  # its exponential is 0
    scores = np.where(labels < 0, far, values @ values.T + table[labels])
    return np.asarray(values + softmax(scores) @ values)


def _translations() -> Evidence:
    """Groups that both layers leave, by search; then two layers on a torus, moved by 1 to 8 tokens."""
    for side, window, shift in ((4, 2, 1), (6, 3, 1), (6, 3, 2), (6, 2, 1)):
        torus = [window_offsets(side, window, cut, wrap=True) for cut in (0, shift)]
        found = automorphisms(*torus).order
        hold(found == (side // window) ** 2, f"{side}, {window}, {shift}: {found}")
        masked = [window_offsets(side, window, cut, wrap=False) for cut in (0, shift)]
        hold(automorphisms(*masked).order == 1, f"masked {side}, {window}, {shift}")
    rng = np.random.default_rng(31)
    tokens = rng.normal(size=(12, 12, 3))
    layers = [(window_offsets(12, 4, cut, wrap=True), rng.normal(size=49)) for cut in (0, 2)]

    def network(picture: Array) -> Array:
        values = picture.reshape(144, 3)
        for labels, table in layers:
            values = _layer(values, labels, table)
        return values.reshape(12, 12, 3)

    still = network(tokens)
    defects = {
        move: float(
            abs(network(np.roll(tokens, move, axis=1)) - np.roll(still, move, axis=1)).max()
        )
        for move in range(1, 9)
    }
    kept = [move for move, defect in defects.items() if defect < 1e-12]
    hold(kept == [4, 8] and min(d for m, d in defects.items() if m % 4) > 0.01, f"{defects}")
    strides = [4 * 2**number * 7 for number in range(4)]
    sides = [row.grid[0] for row in stage_table(published("Swin-T"))]
    hold([224 // side * 7 for side in sides] == strides, "strides of the stages")
    return {
        "translations left on a torus of 6 x 6, windows of 2 and 3": fmt([9, 4]),
        "with the mask": fmt(1),
        "moves of 12 tokens kept, windows of 4": fmt(kept),
        "at those": below(max(defects[move] for move in kept), 1e-12),
        "lattices of Swin-T's stages [px]": fmt(strides),
        "of the whole network [px]": fmt(lcm(*strides)),
    }


_record = partial(Claim, chapter="04_swin_locality")

CLAIMS = (
    _record(
        id="T31",
        statement="Windows that wrap round keep only the shifts by whole windows; masked ones keep none.",
        tier="exact",
        place="connectivity",
        assumptions=(
            "torus of at least two windows a side",
            "a regular and a shifted layer, relative positions",
            "weights in general position",
        ),
        fails_when="windows of one token, or one window without positions: then every shift is kept",
        evidence=_translations,
    ),
)
