"""Claims of chapter 11: layered validation."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise, product
from math import comb, prod

import numpy as np

from vitbias.arrays import Array
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.exact_attention import exact_attention
from vitbias.formatting import fmt
from vitbias.interface import null_vectors
from vitbias.patches import patchify
from vitbias.symmetry import equivariance_defect
from vitbias.windows import groups

__all__ = ["CLAIMS"]

Model = Callable[[Array], Array]


def _battery() -> Evidence:
    """The battery on a line of six tokens in fractions: the declared model and one fault for each test."""
    rng = np.random.default_rng(111)
    labels = [groups(6, 2), groups(6, 2, 1)]
    masks = [np.equal.outer(label, label) for label in labels]
    weight, patches = np.array([[2, -1, 3]]), rng.integers(0, 9, (6, 3))

    def blocks(tokens: Array, second: Array = masks[1]) -> Array:
        for mask in (masks[0], second):
            low = np.array([[int(row[0] // 1) % 3 - 1] for row in tokens])
            tokens = tokens + exact_attention(low, low, tokens, mask=mask)
        return tokens

    bump = np.eye(6, dtype=int)[:, :, None]
    mirror, reach = np.arange(6)[::-1], masks[1].astype(int) @ masks[0] > 0

    def verdicts(model: Model) -> str:
        plain = model(patches)
        null = all(
            (model(patches + bump[n] * v) == plain).all()
            for n in range(6)
            for v in null_vectors(weight)
        )
        moved = equivariance_defect(model, patches, mirror) == 0
        depends = [(model(patches + bump[n]) != plain).any(axis=1) for n in range(6)]
        seen = np.array_equal(np.array(depends).T, reach)
        return "".join("pass " if ok else "FAIL " for ok in (null, moved, seen)).strip()

    slots, full = np.arange(6)[:, None], np.ones((6, 6), dtype=bool)
    found = {
        "as declared": verdicts(lambda x: blocks(x @ weight.T)),
        "bypass": verdicts(lambda x: blocks(x @ weight.T + x[:, :1] ** 2)),
        "position table": verdicts(lambda x: blocks(x @ weight.T + slots)),
        "mask forgotten": verdicts(lambda x: blocks(x @ weight.T, full)),
    }
    expected = ["pass pass pass", "FAIL pass pass", "pass FAIL pass", "pass pass FAIL"]
    hold(list(found.values()) == expected, f"null, permutation, reach: {found}")
    return found


def _design() -> Evidence:
    """Bars of 1 x 2 and 2 x 4 px on patches of 3 px: factors balanced, no leak, by counting pixels."""
    side, size = 3, 12
    factors = (range(side), range(side), (1, 2), range(4), (0, 1))
    runs = list(product(*factors))
    pictures = np.zeros((len(runs), size, size, 1), dtype=np.int64)
    for picture, (row, column, scale, cell, standing) in zip(pictures, runs, strict=True):
        high, wide = (2 * scale, scale) if standing else (scale, 2 * scale)
        top, left = side * (cell // 2) + row, side * (cell % 2) + column
        picture[top : top + high, left : left + wide] = 1
    hold(len({p.tobytes() for p in pictures}) == len(runs), "pictures differ")
    columns = list(zip(*runs, strict=True))
    for a, b in combinations(range(5), 2):
        joint = Counter(zip(columns[a], columns[b], strict=True))
        balanced = len(joint) == len(factors[a]) * len(factors[b])
        hold(balanced and len(set(joint.values())) == 1, f"factors {a} and {b}")
    means = patchify(pictures, side).sum(axis=2)
    cues = {
        "ink": means.sum(axis=1).tolist(),
        "patches touched": (means > 0).sum(axis=1).tolist(),
        "multiset of patch means": [tuple(row) for row in np.sort(means).tolist()],
    }
    shares = {}
    for name, cue in cues.items():
        lying, standing_ = (
            Counter(v for v, run in zip(cue, runs, strict=True) if run[4] == label)
            for label in (0, 1)
        )
        best = sum(max(lying[value], standing_[value]) for value in set(cue))
        shares[name] = Fraction(best, len(runs))
        hold(shares[name] == Fraction(1, 2), f"{name} leaks: {shares[name]}")
    return {"pictures": fmt(len(runs)), **{name: fmt(share) for name, share in shares.items()}}


def _chance(count: int, trials: int, p: Fraction) -> Fraction:
    return comb(trials, count) * p**count * (1 - p) ** (trials - count)


def _coverage_and_selection() -> Evidence:
    """Two-tail interval of 7 and 13 seeds by summation; the best of k by all outcomes and by the formula."""
    least = Fraction(1)
    for trials in (7, 13):
        for p in (Fraction(i, 40) for i in range(1, 40)):
            weights = [_chance(count, trials, p) for count in range(trials + 1)]
            covered = sum(
                weight
                for count, weight in enumerate(weights)
                if min(sum(weights[count:]), sum(weights[: count + 1])) > Fraction(1, 40)
            )
            least = min(least, Fraction(covered))
    hold(least >= Fraction(19, 20), f"coverage {least}")
    p, trials, gains = Fraction(2, 3), 3, []
    for tries in range(1, 5):
        mean = sum(
            Fraction(max(counts), trials) * prod(_chance(c, trials, p) for c in counts)
            for counts in product(range(trials + 1), repeat=tries)
        )
        tails = (sum(_chance(c, trials, p) for c in range(t)) for t in range(1, trials + 1))
        formula = sum(1 - tail**tries for tail in tails) / trials
        hold(mean == formula, f"best of {tries}: {mean}, {formula}")
        gains.append(mean - p)
    hold(gains[0] == 0 and all(a < b for a, b in pairwise(gains)), f"{gains}")
    return {"least coverage": fmt(float(least), 4), "gains of the best of 1 to 4": fmt(gains)}


def _subgroup() -> Evidence:
    """All error counts of two models on 3 + 7 pictures: the mean falls exactly when the counts say so."""
    small, rest, hidden = 3, 7, 0
    share = Fraction(small, small + rest)
    cases = product(range(small + 1), range(rest + 1), repeat=2)
    for a_small, a_rest, b_small, b_rest in cases:
        lower = Fraction(b_small + b_rest, 10) < Fraction(a_small + a_rest, 10)
        worse, better = Fraction(b_small - a_small, small), Fraction(a_rest - b_rest, rest)
        hold(lower == (share * worse < (1 - share) * better), "criterion")
        hidden += lower and b_small > a_small
    hold(hidden > 0, "a lower mean with a worse subgroup exists")
    return {"pairs of models": fmt(4**2 * 8**2), "mean falls, subgroup worse": fmt(hidden)}


def _support() -> Evidence:
    """E = (1, 16): one token for each pair of 4-bit values, a collision as soon as 16 is allowed."""
    in_use = {a + 16 * b for a, b in product(range(16), repeat=2)}
    synthetic = {a + 16 * b for a, b in product(range(17), repeat=2)}
    hold(len(in_use) == 16**2, "one to one in use")
    hold(len(synthetic) < 17**2, "not one to one on the wider set")
    (null,) = null_vectors(np.array([[1, 16]]))
    hold(max(abs(null)) == 16, f"least difference {null}: outside of 4-bit values")
    return {
        "merged in use": fmt(16**2 - len(in_use)),
        "merged synthetically": fmt(17**2 - len(synthetic)),
    }


_record = partial(Claim, place="data", chapter="11_layered_validation")

CLAIMS = (
    _record(
        id="R11.1",
        statement="Three exact tests pass on the declared model, and each catches the faults it is for.",
        tier="counted",
        place="connectivity",
        assumptions=("exact arithmetic", "one generic input", "one fault at a time"),
        fails_when="a fault respects every permutation that was tried, or a test compares nothing",
        evidence=_battery,
    ),
    _record(
        id="R11.2",
        statement="A full factorial set of pictures varies alignment, scale and position independently.",
        tier="counted",
        assumptions=("every combination equally often", "objects never cut off"),
        fails_when="objects are placed uniformly where they fit, or the label changes the ink",
        evidence=_design,
    ),
    _record(
        id="R11.3",
        statement="An interval can be built that never covers too rarely; choosing the best inflates.",
        tier="exact",
        assumptions=("independent seeds", "each solves the task or not", "equally good settings"),
        fails_when="the textbook interval is used with few seeds, or only one setting is tried",
        evidence=_coverage_and_selection,
    ),
    _record(
        id="R11.4",
        statement="A lower mean error can go with a higher error on small objects.",
        tier="exact",
        assumptions=("fixed shares of the subgroups",),
        fails_when="the subgroup loses more in total than the rest gains",
        evidence=_subgroup,
    ),
    _record(
        id="R11.5",
        statement="A projection may merge synthetic patches and no two patches that occur in use.",
        tier="exact",
        place="patch projection",
        assumptions=("linear projection", "finite set of patches in use"),
        fails_when="two patches in use differ by a vector of the null space",
        evidence=_support,
    ),
)
