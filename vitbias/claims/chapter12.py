"""Claims of chapter 12: from slogan to claims."""

from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from vitbias.arrays import Array
from vitbias.attention import attention
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.exact_attention import exact_attention
from vitbias.formatting import below, fmt
from vitbias.interface import null_vectors
from vitbias.rank import exact_rank
from vitbias.symmetry import equivariance_defect
from vitbias.windows import attention_mask, global_pairs, ragged_pairs, window_pairs

__all__ = ["CLAIMS"]


def _propositions() -> Evidence:
    """Searches of their own: 2 x 4 matrices by rank, two tokens of width 2, pairs of dense masks."""
    matrices = 0
    for entries in product((0, 1, 2), repeat=8):
        if entries[0] or entries[4]:  # the others lose the first coordinate anyway
            continue
        weight = np.array(entries).reshape(2, 4)
        hold(exact_rank(weight).nullity >= 2, f"{weight.tolist()} merges nothing")
        matrices += 1
    layers = 0
    for entries in product((-1, 0, 2), repeat=4):
        tokens = np.array(entries).reshape(2, 2)
        plain = exact_attention(tokens, tokens[:, ::-1], tokens)
        swapped = exact_attention(tokens[::-1], tokens[::-1, ::-1], tokens[::-1])
        hold((swapped == plain[::-1]).all(), f"tokens {entries}")
        layers += 1
    grids = 0
    for window, count in product(range(1, 6), range(1, 5)):
        side = window * count
        pairs = int(attention_mask(side, side, window).sum())
        hold(pairs == window_pairs(side**2, window) == window**2 * side**2, f"{side}, {window}")
        hold(global_pairs(4 * side**2) == 16 * global_pairs(side**2), f"{side}")
        hold(window_pairs(4 * side**2, window) == 4 * pairs, f"twice {side}, {window}")
        grids += 1
    wide = np.arange(16) + 16 * np.arange(16)[:, None]
    hold(len(np.unique(wide)) == wide.size, "a finite alphabet is outside")
    return {
        "matrices": fmt(matrices),
        "layers": fmt(layers),
        "grids": fmt(grids),
        "counterexamples": fmt(0),
        "merged by (1, 16) on 4-bit values": fmt(wide.size - len(np.unique(wide))),
    }


def _not_tiling() -> Evidence:
    """Ragged counts by dense masks, between their bounds; equal to the upper one where windows tile."""
    grids, least = 0, Fraction(1)
    for side, window in product(range(1, 20), range(1, 8)):
        pairs = int(attention_mask(side, side, window, border="ragged").sum())
        hold(pairs == ragged_pairs(side, window), f"g = {side}, w = {window}")
        if side > window:
            share = Fraction(pairs, window**2 * side**2)
            hold((1 - Fraction(window, 4 * side)) ** 2 <= share <= 1, f"share {share}")
            hold((share == 1) == (side % window == 0), "equal exactly where windows tile")
            least = min(least, share)
            grids += 1
    exponent = float(np.log(ragged_pairs(64, 7) / ragged_pairs(63, 7)) / np.log(64**2 / 63**2))
    hold(0 < exponent < 1, f"{exponent}")
    return {
        "grids": fmt(grids),
        "least share of w²N": fmt(least),
        "exponent from 63 to 64 tokens a side": fmt(exponent, 2),
    }


def _contracts() -> Evidence:
    """Three programs that meet the assumptions and three that do not, told apart by their runs."""
    rng = np.random.default_rng(1220)
    weight, patch = rng.integers(-3, 4, (3, 5)), rng.integers(0, 9, 5)
    other = patch + null_vectors(weight)[0].astype(int)
    interface = [
        bool((weight @ patch == weight @ other).all()),
        bool((weight @ patch + patch @ patch == weight @ other + other @ other).all()),
    ]
    tokens, slots = rng.normal(size=(5, 3)), np.arange(5)[:, None]

    def layer(x: Array) -> Array:
        return attention(x, x, x)

    shifted = equivariance_defect(lambda x: layer(x + slots), tokens, (1, 2, 3, 4, 0))
    plain = equivariance_defect(layer, tokens, (1, 2, 3, 4, 0))
    masks = {s: [int(attention_mask(s, s, w).sum()) for w in (2, s // 3)] for s in (6, 12)}
    growth = [4 * a == b for a, b in zip(masks[6], masks[12], strict=True)]
    hold(interface == growth == [True, False], f"{interface} {growth}")
    hold(plain < 1e-12 < 1e-3 < shifted, f"defects {plain} and {shifted}")
    return {
        "merges, without and with a bypass": fmt(interface),
        "defect without positions": below(plain, 1e-12),
        "defect with positions": fmt(float(shifted), 2),
        "linear, with fixed and with growing windows": fmt(growth),
    }


def _undecided() -> Evidence:
    """For each design choice two cases with one structural effect and opposite further claims."""
    bits = np.array(list(product((0, 1), repeat=3)))
    token = bits.sum(axis=1)
    lost = [
        sum(max(np.bincount(label[token == t], minlength=2)) for t in range(4)) < len(bits)
        for label in (token % 2, bits[:, 0])
    ]
    tables = [np.array([[0], [2], [5]]), np.array([[0], [2], [0]])]

    def layer(x: Array, table: Array) -> Array:
        x = x + table[: len(x)]
        return exact_attention(x, x, x)

    seen = [np.array(x)[:, None] for x in product(range(3), repeat=2)]
    agree = all((layer(x, tables[0]) == layer(x, tables[1])).all() for x in seen)
    longer = np.array([[1], [0], [2]])
    differ = bool((layer(longer, tables[0]) != layer(longer, tables[1])).any())
    full = np.ones((3, 3), dtype=bool)
    used = []
    for key in (0, 1):  # the same graph; a key of 0 gives weights that do not depend on the tokens
        outs = {
            tuple(exact_attention(0 * x, 0 * x, key * x, mask=full)[0])
            for x in (np.array([[1], [2], [last]]) for last in range(3))
        }
        used.append(len(outs) > 1)
    # least squares of least norm on one example (1, 0, 0), truth x1 + x2 + x3; the teacher says 1, which is
    # true, the data say ``label``; the test is the example itself, 0, or (0, 1, 0), 1
    gains = {}
    for label, test in ((1, 1), (0, 0), (0, 1)):
        errors = {}
        for taught, shared in product((0, 1), repeat=2):
            basis = np.ones((3, 1), dtype=int) if shared else np.eye(3, dtype=int)
            told = Fraction(1 if taught else label, int(basis[0] @ basis[0]))
            errors[taught, shared] = abs(1 - told * int(basis[0] @ basis[test]))
        gains[label, test] = [int(errors[0, 0] - errors[case]) for case in ((1, 0), (0, 1), (1, 1))]
    hold(lost == [False, True], f"labels {lost}")
    hold(agree and differ, "tables agree on seen slots only")
    hold(used == [False, True], f"reached and used {used}")
    hold(list(gains.values()) == [[0, 1, 1], [1, 0, 1], [0, 0, 1]], f"{gains}")
    return {
        "lost direction matters, for two labels": fmt(lost),
        "two tables agree on seen slots, on a new one": fmt([agree, not differ]),
        "a reached token is used, for two value maps": fmt(used),
        "gain by teacher, by sharing, by both": fmt([*gains.values()]),
    }


_record = partial(Claim, place="connectivity", chapter="12_architecture_claims")

CLAIMS = (
    _record(
        id="R12.1",
        statement="Narrow interfaces merge, plain attention permutes, fixed windows grow linearly.",
        tier="exact",
        assumptions=("linear and narrow", "no positions, no mask", "fixed windows that tile"),
        fails_when="the alphabet is finite, a bypass or position is added, or windows grow",
        evidence=_propositions,
    ),
    _record(
        id="R12.2",
        statement="A run refutes no theorem; it can show that a program breaks the assumptions.",
        tier="counted",
        assumptions=("a conclusion that can be computed", "three programs, one change each"),
        fails_when="the conclusion also holds without the assumption that was broken",
        evidence=_contracts,
    ),
    _record(
        id="RE.11",
        statement="What a design choice does to the structure does not decide whether it helps.",
        tier="exact",
        place="data",
        assumptions=("four choices", "two cases each with one structural effect"),
        fails_when="target, coordinates, weights and labels are fixed as well",
        evidence=_undecided,
    ),
    _record(
        id="T34",
        statement="Windows that do not tile the grid have linearly many pairs in the limit only.",
        tier="exact",
        assumptions=("square grid", "fixed window", "smaller windows at the border"),
        fails_when="the border is padded, the window grows with the grid, or the window tiles it",
        evidence=_not_tiling,
    ),
)
