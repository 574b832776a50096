"""Claims of chapter 9: communication depth."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from vitbias.architecture import Architecture
from vitbias.arrays import Array
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.exact_attention import exact_attention, exact_softmax
from vitbias.formatting import fmt
from vitbias.hierarchy import global_block, merging_mask, stage_table
from vitbias.patterns import with_hubs
from vitbias.reach import compose, depth, grid_depth, line_depth, line_reach, path_counts
from vitbias.reach import shifted_depth as closed_form
from vitbias.readers.catalogue import published
from vitbias.windows import attention_mask, groups

__all__ = ["CLAIMS"]


def _swin_t(pixels: int = 224, window: int = 7) -> Architecture:
    model = published("Swin-T")
    stages = tuple(replace(stage, window=window, shift=None) for stage in model.stages)
    return replace(model, image_px=(pixels, pixels), stages=stages)


def _line_mask(side: int, window: int, shift: int) -> Array:
    label = groups(side, window, shift, border="ragged")
    return np.asarray(label[:, None] == label)


def _alternating(side: int, window: int, shift: int) -> list[Array]:
    return [_line_mask(side, window, cut) for cut in (0, shift)]


def _averaging(tokens: Array, mask: Array) -> Array:
    """One block with residual whose weights are equal on all keys that the mask allows, in fractions."""
    zero = np.zeros((len(tokens), 1), dtype=int)
    return np.asarray(tokens + exact_attention(zero, zero, tokens, mask=mask))


def _global_layer() -> Evidence:
    """A full mask: depth 1; every weight above 0 and inside both bounds, which are attained."""
    hold(depth([np.ones((11, 11), dtype=bool)]) == 1, "one block")
    scores = np.random.default_rng(91).integers(-9, 10, (7, 11))
    weights = exact_softmax(scores)
    hold((weights > 0).all(), "every weight is positive")
    for row, found in zip(scores.tolist(), weights, strict=True):
        for score, weight in zip(row, found, strict=True):
            behind = max(row) - score
            low, high = 1 + (len(row) - 1) * 2**behind, 1 + 2**behind
            hold(weight * low >= 1, f"{weight} at {behind} behind")
            hold(behind == 0 or weight * high <= 1, f"{weight} at {behind} behind")
    small = exact_softmax([[0, 50]])[0, 0]
    hold(1 / small == 1 + 2**50, f"{small}")
    return {"blocks": "1", "a weight at 50 behind": fmt(small)}


def _windows() -> Evidence:
    """Pairs by comparing windows token by token; the mask and its powers factor into lines."""
    height, width, window, shift = 6, 9, 3, 1
    masks = [attention_mask(height, width, window, cut) for cut in (0, shift)]
    places = list(product(range(height), range(width)))
    pairs = 0
    for (i, (a, b)), (j, (c, d)) in product(enumerate(places), repeat=2):
        together = a // window == c // window and b // window == d // window
        hold(masks[0][i, j] == together, f"tokens {i} and {j}")
        pairs += together
    hold(pairs == len(places) * window**2, f"{pairs} pairs")
    lines = [_alternating(side, window, shift) for side in (height, width)]
    for blocks in range(1, 5):
        whole = compose((masks * 2)[:blocks])
        parts = [compose((line * 2)[:blocks]) for line in lines]
        hold(np.array_equal(whole, np.kron(*parts)), f"{blocks} blocks")
    return {"pairs of one layer": fmt(pairs), "of all pairs": fmt(len(places) ** 2)}


def _one_window_more() -> Evidence:
    """After R(SR)^n a token of window k reaches windows k - n to k + n, cut at the ends."""
    lines = 0
    for window, side in product((2, 3, 5, 7), (14, 23, 36)):
        for shift in range(1, window):
            cuts = [0, *[shift, 0] * 4]
            labels = [groups(side, window, cut, border="ragged") for cut in cuts]
            low, high = line_reach(np.array(labels))
            own = np.arange(side) // window
            for pairs in range(5):
                left = np.maximum(0, (own - pairs) * window)
                right = np.minimum(side, (own + pairs + 1) * window)
                held = (low[2 * pairs + 1] == left) & (high[2 * pairs + 1] == right)
                hold(held.all(), f"g={side}, w={window}, s={shift}, n={pairs}")
            lines += 1
    return {"lines": fmt(lines), "windows after each pair": fmt([1, 3, 5, 7, 9])}


def _depths() -> Evidence:
    """Dense boolean products, walks on intervals and the closed form agree, both orders."""
    cases = 0
    for window, side in product(range(2, 6), range(2, 16)):
        for shift in range(1, window):
            masks = _alternating(side, window, shift)
            for first, order in (("regular", masks), ("shifted", masks[::-1])):
                formula = closed_form(side, window, shift, first=first)
                walked = line_depth(side, window, shift, first=first, border="ragged")
                hold(depth(order) == walked == formula, f"{side}, {window}, {shift}, {first}")
                cases += 1
    sides = (14, 21, 28, 42, 56, 112, 64)
    found = [depth(_alternating(side, 7, 3)) for side in sides]
    hold(found == [3, 5, 7, 11, 15, 31, 19], f"{found}")
    return {"cases": fmt(cases), "w = 7, s = 3, g": fmt(sides), "blocks": fmt(found)}


def _first_global(*, shifted: bool, lines: bool) -> int | None:
    """First global block by dense products, of the masks of the whole grid or of one of its lines."""
    rows = stage_table(_swin_t())
    side = rows[0].grid[0]
    reached = np.eye(side if lines else side**2, dtype=bool)
    block = 0
    for stage, row in enumerate(rows):
        side = row.grid[0]
        if stage:
            halves = np.kron(np.eye(side), np.ones((1, 2))) > 0
            merge = halves if lines else merging_mask(2 * side, 2 * side)
            reached = compose([reached, merge])
        for number in range(row.blocks):
            cut = row.shift if shifted and number % 2 else 0
            grid = _line_mask if lines else partial(attention_mask, side)
            reached = compose([reached, grid(side, row.window or side, cut)])
            block += 1
            if reached.all():
                return block
    return None


def _merging() -> Evidence:
    """Swin-T at 224 px: dense masks of the grid and intervals of its lines agree."""
    found = [_first_global(shifted=shifted, lines=True) for shifted in (True, False)]
    walked = [global_block(_swin_t(), shift=shift) for shift in ("masked", "none")]
    hold(found == walked == [7, 11], f"{found} and {walked}")
    hold(_first_global(shifted=True, lines=False) == found[0], "the whole grid")
    activations = [row.activations for row in stage_table(_swin_t())]
    hold(activations == [301_056, 150_528, 75_264, 37_632], f"{activations}")
    return {
        "global after block": fmt(found[0]),
        "without any shift": fmt(found[1]),
        "activations": fmt(activations),
    }


def _necessary() -> Evidence:
    """In fractions: outside the reach nothing changes, inside equal weights change, and one zero does not."""
    tokens = np.random.default_rng(95).integers(-3, 4, (12, 2)).astype(object)
    maps = np.random.default_rng(96).integers(-1, 2, (3, 2, 2))
    masks = _alternating(12, 4, 2)

    def learned(x: Array) -> Array:
        return np.asarray(exact_attention(*(x @ m for m in maps), mask=masks[0]))

    def equal(x: Array) -> Array:
        return _averaging(_averaging(x, masks[0]), masks[1])

    unseen = 0
    for changed in range(12):
        other = tokens.copy()
        other[changed] += 1
        apart = (learned(other) != learned(tokens)).any(axis=1)
        hold(not (apart & ~compose(masks[:1])[:, changed]).any(), "outside the reach")
        apart = (equal(other) != equal(tokens)).any(axis=1)
        hold(np.array_equal(apart, compose(masks)[:, changed]), "exactly the reach")
        unseen += int((~compose(masks)[:, changed]).sum())
    blind = tokens - tokens  # a value map of zeros reaches every token and carries nothing
    hold(compose(masks[:1])[0, 1] and (exact_attention(tokens, tokens, blind) == 0).all(), "zeros")
    paths = path_counts(masks * 2)
    return {
        "pairs out of reach": fmt(unseen),
        "paths to a pair after four blocks": fmt(sorted({*paths.ravel().tolist()})[:4]),
    }


def _task() -> Evidence:
    """Two markers: the first block after which token 0 tells all four pairs of bits apart."""
    masks, needed = _alternating(16, 4, 2), []
    for distance in (1, 4, 8, 12, 15):
        inputs = []
        for bits in product((0, 1), repeat=2):
            tokens = np.zeros((16, 2), dtype=object)
            tokens[0, 0], tokens[distance, 1] = bits
            inputs.append(tokens)
        blocks, told = 0, 2  # without a block token 0 knows its own bit
        while told < 4:
            inputs = [_averaging(x, masks[blocks % 2]) for x in inputs]
            blocks += 1
            told = len({tuple(x[0]) for x in inputs})
            inside = bool(compose((masks * 8)[:blocks])[0, distance])
            hold((told == 4) == inside, f"distance {distance}, block {blocks}")
        needed.append(blocks)
    hold(needed == [1, 3, 5, 7, 7], f"{needed}")
    return {"distances": fmt([1, 4, 8, 12, 15]), "blocks needed": fmt(needed)}


def _names() -> Evidence:
    """One name, several masks: resolution, order, shift and border change the depth."""
    found = {}
    for pixels, window in ((224, 7), (384, 12), (448, 7)):
        model = _swin_t(pixels, window)
        found[pixels] = [global_block(model), global_block(model, shift="none")]
    hold(found == {224: [7, 11], 384: [7, 11], 448: [11, None]}, f"{found}")
    masks = [attention_mask(14, 14, 7, cut) for cut in (0, 3)]
    wrapped = [masks[0], attention_mask(14, 14, 7, 3, wrap=True)]
    depths = [depth(masks), depth(masks[::-1]), depth(wrapped), depth(masks[:1])]
    hold(depths == [3, 4, 2, None], f"{depths}")
    return {
        "Swin-T at 224, 384, 448 px": fmt([found[px][0] for px in (224, 384, 448)]),
        "14 x 14: regular first, shifted first, unmasked": fmt(depths[:3]),
        "14 x 14, no shift": "never",
    }


def _hubs() -> Evidence:
    """One hub makes two blocks of any number of windows; a copy for each window does not."""
    found = []
    for side in (14, 28):
        masks = [attention_mask(side, side, 7, cut) for cut in (0, 3)]
        hold(depth(masks) == grid_depth(side, side, 7, 3), "two routes")
        found.append([depth(masks), depth([with_hubs(mask) for mask in masks])])
    hold(found == [[3, 2], [7, 2]], f"{found}")
    # three windows of two tokens, each with a copy of its own in front
    copies = np.kron(np.eye(3, dtype=int), np.ones((3, 3), dtype=int)) > 0
    hold(depth([copies]) is None, "copies do not talk to each other")
    return {"14 x 14 and 28 x 28 tokens": fmt([three for three, _ in found]), "with a hub": "2"}


_record = partial(Claim, place="connectivity", chapter="09_communication_depth")

CLAIMS = (
    _record(
        id="R9.1",
        statement="A global layer reaches all tokens in one block, with weights as small as you like.",
        tier="exact",
        assumptions=("no mask", "softmax with finite scores"),
        fails_when="a mask forbids a pair: then one block may not reach it",
        evidence=_global_layer,
    ),
    _record(
        id="R9.2",
        statement="A window layer connects only tokens of one window, rows and columns apart.",
        tier="exact",
        assumptions=("equal row label and equal column label", "every token keeps itself"),
        fails_when="tokens outside the grid are added, or rows and columns are joined by an or",
        evidence=_windows,
    ),
    _record(
        id="R9.3",
        statement="Each pair of a shifted and a regular block adds one window on every side.",
        tier="exact",
        assumptions=("masked shifted windows", "shift between zero and the window"),
        fails_when="the shift is zero: then reach stays one window",
        evidence=_one_window_more,
    ),
    _record(
        id="R9.4",
        statement="Merging passes reach on: Swin-T sees everything after 7 of its 12 blocks.",
        tier="counted",
        place="hierarchy",
        assumptions=("224 px, patches of 4, windows of 7", "stages of 2, 2, 6, 2 blocks"),
        fails_when="no layer is shifted: then it takes 11; at 448 px even with shifts",
        evidence=_merging,
    ),
    _record(
        id="R9.5",
        statement="What is out of reach cannot matter; what is within reach need not.",
        tier="exact",
        assumptions=("row-wise maps outside attention", "masked weights exactly zero"),
        fails_when="the mask only lowers scores: then a forbidden weight is small, not zero",
        evidence=_necessary,
    ),
    _record(
        id="R9.6",
        statement="A task about two distant tokens becomes computable at a block known beforehand.",
        tier="exact",
        assumptions=("answer read from one of the two tokens", "no other token tells the bits"),
        fails_when="the read-out joins several tokens, or the bits leak into the background",
        evidence=_task,
    ),
    _record(
        id="R9.7",
        statement="Depth belongs to the mask: one name of a model stands for several depths.",
        tier="counted",
        assumptions=("masks as executed", "blocks in the order of the network"),
        fails_when="resolution, window, shift, order and border are all fixed by the name",
        evidence=_names,
    ),
    _record(
        id="R9.8",
        statement="One token that all windows share in every block connects everything in two.",
        tier="exact",
        assumptions=("one and the same hub in every window", "at least two windows"),
        fails_when="each window has a copy of its own",
        evidence=_hubs,
    ),
    _record(
        id="T12",
        statement="Shifted windows take twice as many blocks as windows along a side, less one.",
        tier="exact",
        assumptions=("regular block first", "masked shift, not zero", "at least two tokens a side"),
        fails_when="the shifted block is first and the last window is longer than the shift",
        evidence=_depths,
    ),
)
