"""Claims of chapter 5: what a projection loses of data, for an affine read-out."""

from fractions import Fraction
from functools import partial

import numpy as np

from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import below, fmt
from vitbias.rank import exact_rank
from vitbias.variance import linear_residual, pca_bound, retained_variance

__all__ = ["CLAIMS"]


def _affine_guess() -> Evidence:
    """Residuals against least squares on finite data; the zero condition; both counterexamples; the bound."""
    rng = np.random.default_rng(505)
    worst, zeros, cases = 0.0, 0, 0
    for rank in (2, 3, 5, 5):
        samples = rng.integers(-4, 5, (13, rank)) @ rng.integers(-2, 3, (rank, 5))
        projection = rng.integers(-3, 4, (2, 5))
        count = len(samples)
        sums = samples.sum(axis=0)
        spread = count * samples.T @ samples - np.outer(sums, sums)
        for w in (rng.integers(-3, 4, 5), rng.integers(-3, 4, 2) @ projection):
            exact = linear_residual(spread, projection, w)
            table = np.column_stack([samples @ projection.T, np.ones(count)])
            label = samples @ w
            guess = table @ np.linalg.lstsq(table, label, rcond=None)[0]
            measured = float(((label - guess) ** 2).mean())
            worst = max(worst, abs(float(exact) / count**2 - measured))
            seen = projection @ spread
            inside = exact_rank(np.vstack([seen, w @ spread])).rank == exact_rank(seen).rank
            hold((exact == 0) == inside, f"residual {exact}, in the row space: {inside}")
            zeros, cases = zeros + (exact == 0), cases + 1
        share = float(retained_variance(spread, projection))
        hold(share <= pca_bound(spread, 2) + 1e-12, f"share {share} above the bound")
    hidden = linear_residual([[Fraction(2, 3), 0], [0, Fraction(2, 9)]], [[1, 0]], [0, 1])
    hold(hidden == Fraction(2, 9), "a parabola is uncorrelated with its argument")
    tied = linear_residual([[1, 1], [1, 1]], [[1, 0]], [0, 1])
    hold(tied == 0, "tied values")
    return {
        "against least squares": below(worst, 1e-9),
        "labels without loss": f"{fmt(zeros)} of {fmt(cases)}",
        "missed of a parabola": fmt(hidden),
    }


_record = partial(Claim, place="patch projection", chapter="05_patch_interface")

CLAIMS = (
    _record(
        id="T5",
        statement="An affine read-out misses nothing just where the label lies in the rows kept.",
        tier="exact",
        assumptions=(
            "a label linear in the patch, mean squared error",
            "rows kept up to directions in which the data do not vary",
        ),
        fails_when="the read-out is not affine: what is uncorrelated can still be a function",
        evidence=_affine_guess,
    ),
)
