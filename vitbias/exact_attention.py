"""Attention in rational arithmetic: the same function with base 2 in place of e.

softmax with base 2 of integer scores is a ratio of integers, so the output is a matrix of fractions and an
identity either holds or does not. 2^s = e^(s ln 2): the change of base is a change of the scale of the
scores, which no statement about permutations depends on.

Notation as in ``vitbias.attention``; N queries, N_k keys. Source: equation 2 of the review.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from vitbias.arrays import Array, require_fractions, require_integers
from vitbias.attention import require_mask
from vitbias.errors import Literal, ShapeError, ValuesError

__all__ = ["exact_attention", "exact_softmax", "fractions"]

MOST_BITS = 2**20


def exact_softmax(scores: Any, *, mask: Any = None) -> Array:
    """Rows 2^s_j / sum_k 2^s_k over the allowed keys, (N, N_k) fractions that sum to 1 exactly.

    Parameters
    ----------
    scores : (N, N_k) integers
    mask : (N, N_k) booleans, True = allowed; None allows all

    Raises
    ------
    ShapeError
    ValuesError : also for scores of a row more than 2^20 apart, whose powers would fill the memory
    """
    scores = require_integers("scores", scores, "queries keys")
    powers, totals = _powers(scores, mask)
    rows = [[Fraction(p, total) for p in row] for row, total in zip(powers, totals, strict=True)]
    return np.array(rows, dtype=object)


def exact_attention(query: Any, key: Any, value: Any, *, mask: Any = None) -> Array:
    """Row softmax with base 2 of Q K^T, times V: (N, d_v) fractions.

    Parameters
    ----------
    query : (N, d_k) integers; key : (N_k, d_k) integers
    value : (N_k, d_v) integers or fractions
    mask : (N, N_k) booleans, True = allowed; None allows all

    Raises
    ------
    ShapeError
    ValuesError : also for scores of a row more than 2^20 apart, whose powers would fill the memory
    """
    query = require_integers("query", query, "queries width")
    key = require_integers("key", key, f"keys {query.shape[1]}")
    value = fractions(value)
    if len(value) != len(key):
        got = Literal(f"{len(key)} and {len(value)}")
        raise ShapeError("key and value", expected="one number of tokens", got=got)
    powers, totals = _powers(query @ key.T, mask)
    # one division a row: sums of integers times fractions stay short
    sums = np.array(powers, dtype=object) @ value
    return np.asarray(sums / np.array([[Fraction(total)] for total in totals], dtype=object))


def fractions(value: Any) -> Array:
    """A matrix of ``fractions.Fraction``, (rows, columns), from integers or fractions.

    Raises
    ------
    ShapeError, ValuesError : floats are refused; write them as fractions
    """
    return require_fractions("value", value, "rows columns")


def _powers(scores: Array, mask: Any) -> tuple[Sequence[Sequence[int]], Sequence[int]]:
    """2^(s_j - least allowed s) for each row, 0 where forbidden, and the row sums."""
    everything = np.ones(scores.shape, dtype=bool)
    allowed = everything if mask is None else require_mask(mask, *scores.shape)
    powers = []
    for row, may in zip(scores, allowed, strict=True):
        used = [s for s, ok in zip(row, may, strict=True) if ok]
        least, spread = min(used), max(used) - min(used)
        if spread > MOST_BITS:
            expected = f"differences of at most {MOST_BITS:,} within a row"
            raise ValuesError("scores", expected=expected, got=spread)
        powers.append([1 << (s - least) if ok else 0 for s, ok in zip(row, may, strict=True)])
    return powers, [sum(row) for row in powers]
