"""Claims of chapter 6: patch size trades count for grain."""

from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np

from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import fmt
from vitbias.patches import patchify, raw_dim, token_count
from vitbias.photographs import photograph
from vitbias.rank import exact_rank
from vitbias.readers.catalogue import published
from vitbias.windows import (
    attention_mask,
    global_pairs,
    padded_pairs,
    query_pairs,
    ragged_pairs,
    shifted_pairs,
    window_pairs,
)

__all__ = ["CLAIMS", "PANEL", "SIDE", "WINDOW"]

SIDE = 224
WINDOW = 7
# panel 1 of the review: patch side [px], global pairs, pairs in windows
PANEL = (
    (4, 9_834_496, 153_664),
    (8, 614_656, 38_416),
    (16, 38_416, 9_604),
    (32, 2_401, 2_401),
)


def _window_of(side: int, window: int) -> np.ndarray:
    """The window of each token of a square grid, by listing the tokens."""
    index = np.arange(side) // window
    return np.asarray(index[:, None] * side + index).ravel()


def _listed(side: int, window: int) -> int:
    """Pairs by listing the tokens and counting those that share a window."""
    windows = Counter(_window_of(side, window).tolist())
    return sum(size**2 for size in windows.values())


def _patches() -> Evidence:
    """The patch of every pixel, listed."""
    cases = [(h, p) for h in range(1, 41) for p in range(1, h + 1) if h % p == 0]
    for side, patch in cases:
        sizes = Counter(_window_of(side, patch).tolist())
        hold(len(sizes) == token_count(side, side, patch), f"{side} px, patches of {patch}")
        hold(set(sizes.values()) == {patch**2}, f"{side} px: {patch**2} pixels in each")
    return {"sides and patches listed": fmt(len(cases))}


def _two_changes() -> Evidence:
    """Shapes of cut pictures: the product stays, the factors do not."""
    picture = np.zeros((SIDE, SIDE, 3), dtype=np.uint8)
    shapes = {patch: patchify(picture, patch).shape for patch in (4, 8, 16, 32)}
    hold({count * raw for count, raw in shapes.values()} == {SIDE**2 * 3}, f"{shapes}")
    for patch in (4, 8, 16):
        (many, fine), (few, coarse) = shapes[patch], shapes[2 * patch]
        hold(many == 4 * few and coarse == 4 * fine, f"{patch} to {2 * patch} px")
        hold((many, fine) == (token_count(SIDE, SIDE, patch), raw_dim(patch, 3)), "formulas")
    return {"tokens times raw values": fmt(SIDE**2 * 3)}


def _panel() -> Evidence:
    """Panel 1 from the dense mask of each grid."""
    for patch, everywhere, local in PANEL:
        side = SIDE // patch
        mask = attention_mask(side, side, WINDOW)
        hold(mask.size == everywhere == global_pairs(side**2), f"{patch} px: {mask.size} pairs")
        hold(int(mask.sum()) == local, f"{patch} px: {int(mask.sum())} pairs in windows")
    return {
        "global": fmt([everywhere for _, everywhere, _ in PANEL]),
        "windows": fmt([local for _, _, local in PANEL]),
    }


def _most_keys() -> Evidence:
    """Keys of each query, counted in the mask; one window is global attention."""
    most = []
    for patch, _, _ in PANEL:
        side = SIDE // patch
        most.append(int(attention_mask(side, side, WINDOW).sum(axis=1).max()))
    hold(most == [WINDOW**2] * len(PANEL), f"{most} keys")
    hold(attention_mask(WINDOW, WINDOW, WINDOW).all(), "one window that is the grid")
    return {"most keys of a query": fmt(max(most))}


def _scope() -> Evidence:
    """What the counts leave out, counted."""
    three = [ragged_pairs(64, WINDOW), query_pairs(64, WINDOW), padded_pairs(64, WINDOW)]
    hold(three == [_listed(64, WINDOW), WINDOW**2 * 64**2, _listed(70, WINDOW)], f"{three}")
    hold(three == [195_364, 200_704, 240_100], f"{three}")
    shifted = [int(attention_mask(g, g, WINDOW, 3).sum()) for g in (56, 28, 14)]
    hold(shifted == [shifted_pairs(g, WINDOW, 3) for g in (56, 28, 14)], f"{shifted}")
    hold(all(s < _listed(g, WINDOW) for s, g in zip(shifted, (56, 28, 14), strict=True)), "fewer")
    return {
        "ragged, 49 N and padded at 64 tokens a side": fmt(three),
        "shifted by 3": fmt(shifted),
    }


def _kept() -> Evidence:
    """The rank of the whole map by elimination, and the share that published models can keep."""
    rng = np.random.default_rng(66)
    for patch in (1, 2, 3, 6):
        count, raw = token_count(6, 6, patch), raw_dim(patch, 1)
        for width in (1, 4, 7):
            weight = rng.integers(-9, 10, (width, raw))
            hold(exact_rank(weight).rank == min(width, raw), "maximal rank")
            whole = np.kron(np.eye(count, dtype=int), weight)
            rank = exact_rank(whole).rank
            hold(rank == count * min(width, raw), f"{patch} px, width {width}: rank {rank}")
    shares = {}
    for name in ("ViT-B/16", "ViT-S/16", "ViT-B/32"):
        model = published(name)
        kept = model.patches * min(model.width, model.raw_dim)
        shares[name] = Fraction(kept, SIDE**2 * model.channels)
    hold(list(shares.values()) == [1, Fraction(1, 2), Fraction(1, 4)], f"{shares}")
    return {f"share that {name} can keep": fmt(share) for name, share in shares.items()}


def _two_weights() -> Evidence:
    """Stripes on a photograph: row sums do not see them, column sums do."""
    eye, ones, colours = np.eye(8, dtype=int), np.ones((1, 8), dtype=int), np.eye(3, dtype=int)
    plain = photograph("china").pixels.astype(int)
    striped = plain + np.where(np.arange(SIDE) % 2, -1, 1)[None, :, None]
    moved = {}
    for name, weight in (
        ("row", np.kron(np.kron(eye, ones), colours)),
        ("column", np.kron(np.kron(ones, eye), colours)),
    ):
        hold(exact_rank(weight).rank == len(weight) == 24, f"{name} sums: rank")
        before, after = (patchify(picture, 8) @ weight.T for picture in (plain, striped))
        moved[name] = int((before != after).any(axis=1).sum())
    hold(moved == {"row": 0, "column": 784}, f"{moved}")
    return {f"tokens of {name} sums that change": fmt(count) for name, count in moved.items()}


def _equation_three() -> Evidence:
    """Listed pairs against the formula: it is exact on dividing windows and single ones only."""
    exact = 0
    for side in range(1, 41):
        for window in range(1, 13):
            agrees = _listed(side, window) == window_pairs(side**2, window)
            hold(agrees == (side % window == 0 or side <= window), f"{side}, {window}")
            exact += agrees
    oblong = int(attention_mask(4, 12, WINDOW, border="ragged").sum())
    hold((oblong, window_pairs(4 * 12, WINDOW)) == (1_184, 2_304), f"4 x 12 tokens: {oblong}")
    return {"grids and windows listed": fmt(480), "where the formula is exact": fmt(exact)}


def _with_class() -> Evidence:
    """A class token as one more row and column of the mask."""
    found = []
    for patch, everywhere, local in PANEL:
        side = SIDE // patch
        mask = np.pad(attention_mask(side, side, WINDOW), ((1, 0), (1, 0)), constant_values=True)
        hold(mask.size == everywhere + 2 * side**2 + 1, f"{patch} px: {mask.size}")
        hold(int(mask.sum()) == local + 2 * side**2 + 1, f"{patch} px: {int(mask.sum())}")
        found.append(mask.size)
    return {"global pairs with a class token": fmt(found)}


def _coincidence() -> Evidence:
    """All divisors of 224: pairs of patch sides whose counts are equal."""
    divisors = [p for p in range(1, SIDE + 1) if SIDE % p == 0]
    local = {p: _listed(SIDE // p, WINDOW) for p in divisors if SIDE // p % WINDOW == 0}
    equal = [[p, q] for p in local for q in divisors if local[p] == global_pairs((SIDE // q) ** 2)]
    predicted = [[p, q] for p in local for q in divisors if q * q * WINDOW == p * SIDE]
    hold(equal == predicted and [8, 16] in equal, f"{equal}")
    return {"windows at the first, all tokens at the second [px]": fmt(equal)}


def _growth() -> Evidence:
    """Ratios of listed pairs when the patch is halved, the side doubled, the tokens quadrupled."""
    grids = (7, 14, 28, 56, 112)
    pairs = [_listed(g, WINDOW) for g in grids]
    local = {Fraction(b, a) for a, b in pairwise(pairs)}
    everywhere = {Fraction(global_pairs(4 * g * g), global_pairs(g * g)) for g in grids}
    hold(local == {4} and everywhere == {16}, f"{local}, {everywhere}")
    for g, count in zip(grids, pairs, strict=True):
        hold(Fraction(count, g**4) == min(1, Fraction(WINDOW**2, g * g)), f"share at {g}")
    return {"halved patch, global": fmt(16), "halved patch, windows": fmt(4)}


_record = partial(Claim, place="connectivity", chapter="06_patch_size")
_of_patches = partial(_record, place="patch projection")

CLAIMS = (
    _of_patches(
        id="R6.1",
        statement="A square picture has as many patches as the square of side over patch side.",
        tier="exact",
        assumptions=("the patch side divides the side", "patches do not overlap"),
        fails_when="the patch side does not divide the side: a border rule then sets the count",
        evidence=_patches,
    ),
    _of_patches(
        id="R6.2",
        statement="A larger patch makes fewer tokens and gives each as many values more to carry.",
        tier="exact",
        assumptions=("the patch side divides the side", "patches do not overlap"),
        fails_when="patches overlap: then more values are cut out than the picture has",
        evidence=_two_changes,
    ),
    _record(
        id="R6.3",
        statement="Four patch sides at 224 pixels give the eight counts of pairs of panel 1.",
        tier="counted",
        assumptions=("224 px", "windows of 7 x 7 tokens", "no class token", "no shift"),
        fails_when="a class token or a shift is counted",
        evidence=_panel,
    ),
    _record(
        id="R6.4",
        statement="In windows of 7 x 7 tokens a query has at most 49 keys; one window is global.",
        tier="exact",
        assumptions=("windows do not overlap", "no class token"),
        fails_when="a class or register token adds keys outside the window",
        evidence=_most_keys,
    ),
    _record(
        id="R6.5",
        statement="The window counts are exact for plain partitions, not padded or shifted ones.",
        tier="counted",
        assumptions=("windows of 7 x 7 tokens", "padding at the bottom and right"),
        fails_when="the window divides the grid and nothing is shifted: then all counts agree",
        evidence=_scope,
    ),
    _of_patches(
        id="R6.6",
        statement="A coarser grid has fewer pairs and, at fixed width, never keeps more coordinates.",
        tier="exact",
        assumptions=("one linear projection for all patches", "no overlap", "width fixed"),
        fails_when="the width grows with the raw patch: then all coordinates can be kept",
        evidence=_kept,
    ),
    _of_patches(
        id="R6.7",
        statement="What survives depends on width and weights, not on the number of tokens alone.",
        tier="exact",
        assumptions=("two projections of one width and rank", "a stated detail"),
        fails_when="the projection is injective: then every detail survives",
        evidence=_two_weights,
    ),
    _record(
        id="RE.7",
        statement="The review's third equation counts pairs where windows tile the grid or hold it.",
        tier="exact",
        assumptions=("square grid", "window divides the grid or is not smaller than it"),
        fails_when="a larger grid is no multiple of the window, or is not square, as 4 x 12 tokens",
        evidence=_equation_three,
    ),
    _record(
        id="RE.9",
        statement="Panel 1 counts pairs of one layer and head without a class token.",
        tier="counted",
        assumptions=("224 px", "a class token would meet every token"),
        fails_when="a class token is counted: two pairs more for each token, and one",
        evidence=_with_class,
    ),
    _record(
        id="T25",
        statement="Windows at 8 pixels and global attention at 16 have equally many pairs.",
        tier="exact",
        assumptions=("224 px", "windows of 7 x 7 tokens", "no class token"),
        fails_when="the square of one patch side is not the other times the side of a window in px",
        evidence=_coincidence,
    ),
    _record(
        id="T27",
        statement="Global pairs grow with the square of the tokens, window pairs in proportion.",
        tier="exact",
        assumptions=("window fixed", "window divides the grid"),
        fails_when="the window grows with the grid, or does not divide it",
        evidence=_growth,
    ),
)
