"""Claims of chapter 4: windows, shifts and what they cost."""

from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import product

import numpy as np

from vitbias.claims.record import Claim, Evidence, hold
from vitbias.counts import merging_macs, window_msa_macs
from vitbias.exact_attention import exact_attention
from vitbias.formatting import fmt
from vitbias.readers.catalogue import published
from vitbias.windows import (
    attention_mask,
    global_pairs,
    groups,
    padded_pairs,
    query_pairs,
    ragged_pairs,
    released_mask,
    shifted_pairs,
    swin_window,
    window_pairs,
)

__all__ = ["CLAIMS", "LATENCY", "RECORDED_MASKS"]

# first 16 digits of the SHA-256 of the packed bits "the mask is 0"; window 7, shift 3, timm 1.0.31
RECORDED_MASKS = {56: "1d0df348406d9d51", 28: "54d035723728e60b", 14: "9c30c8de303a1edb"}

# Liu et al. 2021, arXiv version 2, table 5, V100: ms of the attention of stage 1, images/s of Swin-T
LATENCY = {
    "sliding window, naive": (Fraction("122.5"), 183),
    "sliding window, kernel": (Fraction("7.6"), 488),
    "Performer": (Fraction("4.8"), 638),
    "window, no shift": (Fraction("2.8"), 770),
    "shifted window, padding": (Fraction("3.3"), 670),
    "shifted window, cyclic": (Fraction("3.0"), 755),
}


def _stages() -> Evidence:
    """Grids, windows and shifts of Swin-T at 224 px; masks against digests of the released ones."""
    grids = [224 // 4 // 2**stage for stage in range(4)]
    rules = [swin_window(side, 7, 3) for side in grids]
    hold(rules == [(7, 3), (7, 3), (7, 3), (7, 0)], f"windows and shifts {rules}")
    model = published("Swin-T")
    found = [(b.grid[0], (b.window, b.shift), b.width) for _, b in model.layout]
    hold(found == [*zip(grids, rules, (96, 192, 384, 768), strict=True)], f"stages {found}")
    hold([stage.depth for stage in model.stages] == [2, 2, 6, 2], "blocks of the stages")
    shifted = [number for number, block in enumerate(model.blocks, 1) if block.shift]
    hold(shifted == [2, 4, 6, 8, 10], f"shifted blocks {shifted}")
    for side, digest in RECORDED_MASKS.items():
        bits = np.packbits(released_mask(side, side, 7, 3) == 0).tobytes()
        hold(sha256(bits).hexdigest()[:16] == digest, f"mask of a grid of {side}")
    merged = np.zeros((28, 28, 4 * 96)) @ np.zeros((4 * 96, 2 * 96))
    hold(merged.size * 4 * 96 == merging_macs(56**2, 96), "macs of the first merging")
    return {"grids": fmt(grids), "windows and shifts": fmt(rules)}


def _growth() -> Evidence:
    """Entries of the score matrices of the windows, counted: twice the grid, four times the pairs."""
    found = {}
    for name, windows in (("window fixed", (4, 4)), ("window grows along", (4, 8))):
        scores = []
        for side, window in zip((8, 16), windows, strict=True):
            label = groups(side, window)
            line = int((np.bincount(label) ** 2).sum())
            scores.append(line**2)
            hold(line**2 == window_pairs(side**2, window), f"grid {side}, window {window}")
        found[name] = Fraction(scores[1], scores[0])
    hold(list(found.values()) == [4, 16], f"growth {found}")
    each = [Fraction(window_msa_macs(n, 6, 4), n) for n in (64, 256, 1024)]
    hold(len(set(each)) == 1, f"macs of a token {each}")
    released = Fraction(window_pairs(96**2, 12), window_pairs(56**2, 7))
    hold(released == Fraction(12, 7) ** 4, f"224 to 384 px: {released}")
    return {name: f"pairs x {fmt(factor)} for tokens x 4" for name, factor in found.items()}


def _locality() -> Evidence:
    """Masked attention in fractions: a token changes exactly the rows of its window."""
    rng = np.random.default_rng(43)
    mask = attention_mask(4, 4, 2, 1)
    tokens = rng.integers(-3, 4, (16, 2))
    maps = [*rng.integers(-2, 3, (2, 2, 2)), np.eye(2, dtype=int)]
    plain = exact_attention(*(tokens @ m for m in maps), mask=mask)
    for j in range(16):
        other = tokens.copy()
        other[j] += [5, -7]
        changed = (exact_attention(*(other @ m for m in maps), mask=mask) != plain).any(axis=1)
        hold(np.array_equal(changed, mask[:, j]), f"token {j} changes rows {changed}")
    return {"pairs of the mask": fmt(int(mask.sum())), "pairs of 16 tokens": fmt(16**2)}


def _shifted() -> Evidence:
    """All windows up to 7, all shifts: cuts, valid pairs, and when a layer is global."""
    cases = 0
    for window, count in product(range(1, 8), range(1, 6)):
        side = window * count
        for cut in range(window):
            label, regular = groups(side, window, cut), groups(side, window)
            line = int((label[:, None] == label).sum())
            hold(line**2 == shifted_pairs(side, window, cut), f"{side}, {window}, {cut}")
            joined = (np.diff(label) == 0) | (np.diff(regular) == 0)
            hold(bool(joined.all()) == (cut > 0 or side == window), "neighbours joined")
            hold((line == side**2) == (cut == 0 and side == window), "global")
            cases += 1
    pairs = [shifted_pairs(side, 7, 3) for side in (56, 28, 14)]
    hold(pairs == [135_424, 29_584, 5_476], f"{pairs}")
    stages = [(56, 2), (28, 2), (14, 6)]
    plain = sum(blocks * window_pairs(side**2, 7) for side, blocks in stages) + 2 * 49**2
    valid = plain - sum(
        blocks // 2 * (window_pairs(side**2, 7) - left)
        for (side, blocks), left in zip(stages, pairs, strict=True)
    )
    hold((plain, valid) == (446_586, 407_130), f"Swin-T: {plain}, {valid}")
    return {
        "cases": fmt(cases),
        "valid pairs at 56, 28, 14": fmt(pairs),
        "Swin-T, all blocks, computed and valid": fmt([plain, valid]),
    }


def _latency() -> Evidence:
    """Quoted from the paper: one connectivity, several times."""
    naive, kernel = LATENCY["sliding window, naive"], LATENCY["sliding window, kernel"]
    padded, cyclic = LATENCY["shifted window, padding"], LATENCY["shifted window, cyclic"]
    sliding = naive[0] / kernel[0], Fraction(kernel[1], naive[1])
    hold(sliding == (Fraction(1225, 76), Fraction(488, 183)), f"sliding {sliding}")
    shifts = padded[0] / cyclic[0], Fraction(cyclic[1], padded[1])
    hold(shifts == (Fraction(11, 10), Fraction(755, 670)), f"shifted {shifts}")
    return {
        "sliding, naive over kernel": f"{fmt(float(sliding[0]), 3)} times the time",
        "shifted, padding over cyclic": f"{fmt(float(shifts[0]), 3)} times the time",
    }


def _three_counts() -> Evidence:
    """Grids up to 40, windows up to 12: the order, and equality exactly where w divides g."""
    cases = 0
    for side, window in product(range(1, 41), range(1, 13)):
        parts = np.bincount(groups(side, window, border="ragged"))
        ragged = int((parts**2).sum()) ** 2
        queries = int((parts * window).sum()) ** 2
        padded = (len(parts) * window**2) ** 2
        counts = ragged, queries, padded
        ours = tuple(count(side, window) for count in (ragged_pairs, query_pairs, padded_pairs))
        hold(counts == ours, f"{side}, {window}: {counts} against {ours}")
        hold(ragged <= queries <= padded, f"order at {side}, {window}")
        hold((ragged == queries) == (queries == padded) == (side % window == 0), "equality")
        cases += 1
    found = ragged_pairs(64, 7), query_pairs(64, 7), padded_pairs(64, 7)
    hold(found == (195_364, 200_704, 240_100), f"{found}")
    hold(all(count < global_pairs(64**2) for count in found), "less than global")
    return {"cases": fmt(cases), "grid 64, window 7": fmt(found)}


_record = partial(Claim, place="connectivity", chapter="04_swin_locality")

CLAIMS = (
    _record(
        id="R4.1",
        statement="Swin attends in windows, shifts them in every second block, and merges tokens.",
        tier="published",
        assumptions=("Swin-T at 224 px", "window 7, shift 3", "released code for the masks"),
        fails_when="the grid fits one window: there released code attends globally, without shift",
        evidence=_stages,
    ),
    _record(
        id="R4.2",
        statement="Window attention grows linearly with the tokens only if the window stays fixed.",
        tier="exact",
        assumptions=("windows tile the grid", "fixed width"),
        fails_when="the window grows with the grid: then the cost is quadratic again",
        evidence=_growth,
    ),
    _record(
        id="R4.3",
        statement="Whatever its weights, a window layer carries nothing from one window to another.",
        tier="exact",
        assumptions=("one layer", "mask of minus infinity", "other maps row by row"),
        fails_when="the mask is a finite number, or a second layer with other windows follows",
        evidence=_locality,
    ),
    _record(
        id="R4.4",
        statement="A shifted layer joins neighbours that windows part, yet is not global attention.",
        tier="exact",
        assumptions=("shift between 1 and w - 1", "no wrap-around", "more than one window"),
        fails_when="there is no shift, or one window holds the whole grid",
        evidence=_shifted,
    ),
    _record(
        id="R4.6",
        statement="Layers with one connectivity ran at different speeds in Swin's own measurements.",
        tier="published",
        assumptions=("Swin paper, version 2, table 5", "one V100", "first stage"),
        fails_when="other hardware or code runs the layers: the times then say nothing",
        evidence=_latency,
    ),
    _record(
        id="T26",
        statement="On a ragged grid three window counts differ; they agree where windows fit.",
        tier="exact",
        assumptions=("square grid", "remainder at bottom and right"),
        fails_when="the window divides the grid: then all three are one number",
        evidence=_three_counts,
    ),
)
