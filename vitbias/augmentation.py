"""Augmentation by a group: data with their images, averages over orbits, twirls of weights.

Notation: G a finite group of orthogonal matrices g (D, D), given as an array (m, D, D) that holds each
element once; ρ(g) (k, k) acts on the targets and multiplies as g does; P = mean_g g, the projection on what
G leaves in place. Inputs are rows, so g acts on them as X g^T.

Convention: other representations are refused, because for them the theorem on augmentation is false of
minimum-norm and of penalised solutions. Integers and fractions are worked with exactly; a float among the
arguments makes all of them floats.

Source: section 1 of the review; Chen, Dobriban and Lee, JMLR 21 (2020).
"""

from typing import Any

import numpy as np

from vitbias.arrays import Array, require_alike
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    require_sequence,
    require_size,
)

__all__ = ["augmented", "orbit_average"]

SAMPLES, MATRICES, ANY = "samples raw", "elements rows columns", "..."
MOST_ELEMENTS = 1024  # of a group; its table of products is formed whole
TOLERANCE = 1e-9  # of float matrices that should be orthogonal, or a product of two others


def augmented(
    inputs: Any, targets: Any, group: Any, target_group: Any = None, *, part: Any = None
) -> tuple[Array, Array]:
    """The data and their images (g x_i, ρ(g) y_i), for all g of a group or a part of it.

    Parameters
    ----------
    inputs : (n, D); targets : (n, k) or (n,)
    group : (m, D, D) orthogonal matrices, closed under products, each once
    target_group : (m, k, k), ρ(g) in the same order; None leaves the targets as they are
    part : indices into the group, in the order wanted; None takes all

    Returns
    -------
    inputs (p·n, D) and targets of p·n rows, all samples of one element together; p is m or len(part)

    Raises
    ------
    GeometryError : an index that the group does not have, or more than 1,024 elements
    ShapeError
    ValuesError : also for matrices that are not orthogonal or no group, where the theorems on augmentation
        say nothing
    """
    named = [("inputs", inputs, SAMPLES), ("targets", targets, ANY), ("group", group, MATRICES)]
    if target_group is not None:
        named.append(("target_group", target_group, MATRICES))
    x, y, moves, *images = require_alike(*named)
    if y.ndim not in (1, 2) or len(y) != len(x):
        expected = f"axes ({len(x)}, outputs) or ({len(x)}), a row for each sample"
        raise ShapeError("targets", expected=expected, got=Literal(f"shape {y.shape}"))
    _require_group(moves, x.shape[1], *images)
    if images and y.shape[1:] != images[0].shape[1:2]:
        expected = f"targets of width {images[0].shape[1]}"
        raise ShapeError("targets", expected=expected, got=Literal(f"shape {y.shape}"))
    indices = range(len(moves)) if part is None else require_sequence("part", part)
    chosen = [require_size("part", index, minimum=0) for index in indices]
    if not chosen or max(chosen) >= len(moves):
        expected = f"indices from 0 to {len(moves) - 1}, at least one"
        raise GeometryError("part", expected=expected, got=part)
    with np.errstate(all="ignore"):
        more = [x @ moves[index].T for index in chosen]
        answers = [y @ images[0][index].T if images else y for index in chosen]
    return (
        _finite("inputs", np.concatenate(more)),
        _finite("targets", np.concatenate(answers)),
    )


def orbit_average(values: Any, group: Any, target_group: Any = None) -> Array:
    """mean_g ρ(g)^T V g: the average of rows over a group, or of weights (their twirl).

    Without ``target_group``, each row v becomes its orbit's mean, so inputs become X P with
    P = mean_g g. With it, V becomes the nearest matrix that commutes: ρ(g) V = V g.

    Parameters
    ----------
    values : (n, D) or (D,); (k, D) with a target group
    group, target_group : as for ``augmented``

    Raises
    ------
    ShapeError, ValuesError
    """
    named = [("values", values, ANY), ("group", group, MATRICES)]
    if target_group is not None:
        named.append(("target_group", target_group, MATRICES))
    rows, moves, *images = require_alike(*named)
    if rows.ndim not in (1, 2):
        got = Literal(f"shape {rows.shape}")
        raise ShapeError("values", expected="axes (rows, raw) or (raw)", got=got)
    _require_group(moves, rows.shape[-1], *images)
    if images and (rows.ndim == 1 or len(rows) != images[0].shape[1]):
        expected = f"{images[0].shape[1]} rows, as the target group acts on"
        raise ShapeError("values", expected=expected, got=Literal(f"shape {rows.shape}"))
    with np.errstate(all="ignore"):
        turned = rows @ moves if not images else np.swapaxes(images[0], 1, 2) @ rows @ moves
        return _finite("values", np.asarray(turned.sum(axis=0) / len(moves)))


def _finite(field: str, result: Array) -> Array:
    if result.dtype.kind == "f" and not np.isfinite(result).all():
        got = Literal("numbers whose images leave the range of floats")
        raise ValuesError(field, expected="numbers of moderate size", got=got)
    return result


def _require_group(moves: Array, raw: int, images: Array | None = None) -> None:
    """Orthogonal, closed under products, each once; the images multiply as the elements do."""
    _require_orthogonal("group", moves, len(moves), raw)
    if len(moves) > MOST_ELEMENTS:
        expected = f"at most {MOST_ELEMENTS:,} elements"
        raise GeometryError("group", expected=expected, got=len(moves))
    flat = _numbers(moves).reshape(len(moves), -1)
    table = []
    for index, element in enumerate(moves):
        # matrices of one length: the nearest is the one with the largest inner product
        products = _products(element, moves)
        nearest = (_numbers(products).reshape(len(moves), -1) @ flat.T).argmax(axis=1)
        if not _equal(products, moves[nearest]) or len(set(nearest)) < len(moves):
            got = Literal(f"element {index} times another is not among them, or twice")
            raise ValuesError("group", expected="a group, each element once", got=got)
        table.append(nearest)
    if images is not None:
        _require_orthogonal("target_group", images, len(moves), images.shape[2])
        for index, element in enumerate(images):
            if not _equal(_products(element, images), images[table[index]]):
                got = Literal(f"another product for element {index}")
                raise ValuesError("target_group", expected="the products of the group", got=got)


def _require_orthogonal(field: str, matrices: Array, count: int, side: int) -> None:
    if matrices.shape != (count, side, side):
        got = Literal(f"shape {matrices.shape}")
        raise ShapeError(field, expected=f"shape ({count}, {side}, {side})", got=got)
    for index, matrix in enumerate(matrices):
        if not _equal(matrix @ matrix.T, np.eye(side, dtype=int)):
            got = Literal(f"matrix {index}, which is not")
            raise ValuesError(field, expected="orthogonal matrices", got=got)


def _products(element: Array, moves: Array) -> Array:
    """element · moves; floats multiply 0, 1 and -1 exactly and faster than fractions."""
    if moves.dtype.kind == "O" and all(entry in (-1, 0, 1) for entry in moves.flat):
        return (_numbers(element) @ _numbers(moves)).astype(int).astype(object)
    return np.asarray(element @ moves)


def _numbers(matrices: Array) -> Array:
    return matrices.astype(np.float64)


def _equal(first: Array, second: Array) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.all(abs(first - second) <= (0 if first.dtype.kind == "O" else TOLERANCE)))
