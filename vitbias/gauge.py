"""Weights that no output can tell apart: changes of basis inside an attention head.

Notation: d width; h heads; d_k = d/h; of one head W_Q, W_K, W_V (d_k, d) and W_O (d, d_k); A, B invertible
(d_k, d_k). As in ``vitbias.attention`` a map is applied as x W^T + b, so q k^T = x W_Q^T W_K y^T + ….

    W_Q, b_Q -> A^T W_Q, A^T b_Q     W_K, b_K -> A^-1 W_K, A^-1 b_K      the scores stay
    W_V, b_V -> B^T W_V, B^T b_V     W_O -> W_O B^-T                     the output stays
    b_K -> b_K + any vector                          adds one number to a whole row of scores
    b_V -> b_V + c, b_O -> b_O - W_O c               rows of attention weights sum to 1

So W_Q^T W_K and W_O W_V count, matrices of rank <= d_k: d_k(2d - d_k) numbers each, d_k² fewer than stored.
Behind a norm with gain g and bias β every token y has Σ y_i/g_i = Σ β_i/g_i, so there also

    W -> W + u (1/g)^T, b -> b - u Σ β_i/g_i         any map W, b that reads y stays

Convention: a symmetry of the function. Gradient descent respects it for orthogonal A only, Adam for signed
permutations only. Rotary positions, a norm of queries and keys, or relative terms of the keys shrink it.

Source: the dimension of matrices of bounded rank is standard; Vaswani et al., 2017, section 3.2.2, for h.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from vitbias.arrays import Array, require_array, require_floats, require_integers
from vitbias.attention import HeadWeights
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    require_instance,
    require_size,
)
from vitbias.formula import Size, as_size, exact_quotient

__all__ = ["change_gauge", "identifiable", "product_jacobian", "redundant_params"]

MOST_ENTRIES = 2**24
WORST_CONDITION = 1e8


def identifiable(rows: Size, columns: Size, rank: Size) -> Any:
    """r(m + n - r), the dimension of the m x n matrices of rank <= r.

    With m = n = d and r = d_k: what the scores of one head hold of its 2·d·d_k weights. With the query
    bias m = d + 1; the key bias adds nothing.

    >>> identifiable(768, 768, 64)
    94208

    Raises
    ------
    GeometryError : also a rank above a side
    """
    rows, columns, rank = as_size("rows", rows), as_size("columns", columns), as_size("rank", rank)
    for field, side in (("rows", rows), ("columns", columns)):
        as_size(f"{field} - rank", side - rank, minimum=0)
    return rank * (rows + columns - rank)


def redundant_params(width: Size, heads: Size, depth: Size) -> Any:
    """L(2·h·d_k² + 2d): dimensions in which the weights of L blocks move and no output does [params].

    For each block d_k² for each head in queries and keys, as many in values and output, d key biases
    and d value biases. All of them where tokens span R^d with the constant; at least so many behind a norm,
    whose tokens lie in a hyperplane that more weights can use.

    >>> redundant_params(768, 12, 12)
    1198080

    Raises
    ------
    GeometryError : the heads do not divide the width
    """
    width, heads, depth = as_size("width", width), as_size("heads", heads), as_size("depth", depth)
    return depth * (2 * heads * exact_quotient("width", width, heads) ** 2 + 2 * width)


def product_jacobian(left: Any, right: Any) -> Array:
    """The derivative of L^T R by the entries of L and R, (m·n, k·m + k·n) integers.

    Its rank where L and R have full rank is ``identifiable(m, n, k)``. Columns: L row by row, then R;
    rows: the entries of the product, row by row.

    Parameters
    ----------
    left : (k, m) integers; right : (k, n) integers

    Raises
    ------
    GeometryError : more than 2²⁴ entries
    ShapeError, ValuesError
    """
    left = require_integers("left", left, "rank rows")
    right = require_integers("right", right, "rank columns")
    if len(left) != len(right):
        got = Literal(f"{len(left)} and {len(right)} rows")
        raise ShapeError("left and right", expected="one rank", got=got)
    m, n = left.shape[1], right.shape[1]
    entries = m * n * (left.size + right.size)
    if entries > MOST_ENTRIES:
        expected = f"at most {MOST_ENTRIES:,} entries of the derivative"
        raise GeometryError("left and right", expected=expected, got=entries)
    # d(L^T R)[i, j] / dL[r, p] = [i = p] R[r, j], and / dR[r, q] = L[r, i] [j = q]
    by_left = np.einsum("ip,rj->ijrp", np.eye(m, dtype=object), right)
    by_right = np.einsum("ri,jq->ijrq", left, np.eye(n, dtype=object))
    return np.concatenate([by_left.reshape(m * n, -1), by_right.reshape(m * n, -1)], axis=1)


def change_gauge(
    weights: HeadWeights,
    heads: int,
    *,
    scores: Any = None,
    values: Any = None,
    key_bias: Any = None,
    value_bias: Any = None,
) -> HeadWeights:
    """Other weights of the same attention, as in the table above; what is None stays.

    Parameters
    ----------
    scores : (h, d_k, d_k), A of each head; values : (h, d_k, d_k), B of each head
    key_bias, value_bias : (d,), what is added to them

    Raises
    ------
    GeometryError : the heads do not divide the width
    ShapeError
    ValuesError : also a matrix with a condition number above 10⁸, whose inverse would lose the digits
    """
    weights = require_instance("weights", weights, HeadWeights)
    width = len(require_floats("query", weights.query, "width columns"))
    heads = require_size("heads", heads)
    inner = exact_quotient("width", width, heads)
    if scores is not None:
        a, inverse = _maps("scores", scores, heads, inner)
        weights = replace(
            weights,
            query=_rows("query", weights.query, a.mT),
            query_bias=_rows("query_bias", weights.query_bias, a.mT),
            key=_rows("key", weights.key, inverse),
            key_bias=_rows("key_bias", weights.key_bias, inverse),
        )
    if values is not None:
        b, inverse = _maps("values", values, heads, inner)
        weights = replace(
            weights,
            value=_rows("value", weights.value, b.mT),
            value_bias=_rows("value_bias", weights.value_bias, b.mT),
            output=_rows(
                "output", require_floats("output", weights.output, "rows width").T, inverse
            ).T,
        )
    if key_bias is not None:
        bias = require_floats("weights.key_bias", weights.key_bias, str(width))
        added = require_floats("key_bias", key_bias, str(width))
        weights = replace(weights, key_bias=bias + added)
    if value_bias is not None:
        added = require_floats("value_bias", value_bias, str(width))
        bias = require_floats("weights.value_bias", weights.value_bias, str(width))
        output = require_floats("weights.output", weights.output, f"{width} {width}")
        output_bias = require_floats("weights.output_bias", weights.output_bias, str(width))
        weights = replace(
            weights, value_bias=bias + added, output_bias=output_bias - output @ added
        )
    return weights


def _maps(field: str, maps: Any, heads: int, inner: int) -> tuple[Array, Array]:
    array = require_floats(field, maps, f"{heads} {inner} {inner}").astype(np.float64)
    with np.errstate(divide="ignore"):
        condition = np.linalg.cond(array).max()
    if not condition <= WORST_CONDITION:
        got = Literal(f"{condition:.3g}")
        raise ValuesError(field, expected="condition numbers up to 1e8", got=got)
    return array, np.linalg.inv(array)


def _rows(field: str, weight: Any, maps: Array) -> Array:
    """Each head's rows of a (d, columns) map or (d,) bias, times that head's (d_k, d_k) matrix."""
    array = require_array(field, weight, "...")
    heads, inner, _ = maps.shape
    if array.shape[:1] != (heads * inner,):
        got = Literal(f"shape {array.shape}")
        raise ShapeError(field, expected=f"{heads * inner} rows", got=got)
    return (maps @ array.reshape(heads, inner, -1)).reshape(array.shape)
