"""Pictures to patches and back.

Notation: H, W picture height and width [px]; C channels; P patch side [px]; D = P²C values of a raw
patch; N = (H/P)(W/P) patches. Pictures are height x width x channels, any batch axes in front.

Convention: patches are numbered row by row; inside a patch the values run row by row, channels fastest.
A convolution weight of shape (d, C, P, P) has its channels slowest: transpose it to (d, P, P, C) first.

Source: Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2), section 3.1: the picture is reshaped into a
sequence of flattened patches, N = HW/P².
"""

from typing import Any

import numpy as np
from einops import rearrange

from vitbias.arrays import Array, require_array
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    describe,
    require_size,
)
from vitbias.formula import Size, as_size, cells, exact_quotient, raw_dim

__all__ = ["grid_shape", "patchify", "raw_dim", "token_count", "unpatchify"]


def token_count(height: Size, width: Size, patch: Size) -> Any:
    """N = (H/P)(W/P), the number of patches [tokens]; class tokens are not counted.

    >>> token_count(224, 224, 16)
    196

    Raises
    ------
    GeometryError : a size that is not a positive integer, or P does not divide H or W
    """
    rows, columns = grid_shape(height, width, patch)
    return rows * columns


def grid_shape(height: Size, width: Size, patch: Size, *, border: str | None = None) -> Any:
    """(H/P, W/P), the rows and columns of the patch grid [tokens].

    ``border`` names what happens to a remainder: ``"drop"`` leaves the rest unread at the bottom and
    right, ``"pad"`` adds zeros there; without a rule a remainder is an error.

    Raises
    ------
    GeometryError : as ``token_count``; also a patch larger than the picture under ``"drop"``
    UnknownNameError : an unknown rule
    """
    patch = as_size("patch", patch)
    sides = {"height": as_size("height", height), "width": as_size("width", width)}
    return tuple(cells(field, side, patch, border=border) for field, side in sides.items())


def patchify(pictures: Any, patch: int, *, border: str | None = None) -> Array:
    """Flattened patches of pictures, (..., H, W, C) to (..., N, D), in the type of the input.

    x[n, (i·P + j)·C + c] = picture[P·(n // columns) + i, P·(n % columns) + j, c]

    Parameters
    ----------
    pictures : (..., H, W, C) integers or floats; not modified
    patch : P [px]
    border : as in ``grid_shape``

    Raises
    ------
    GeometryError : as ``grid_shape``; also a patch larger than both sides under ``"pad"``
    ShapeError, ValuesError, UnknownNameError
    """
    pictures = require_array("pictures", pictures, "... height width channels")
    height, width = pictures.shape[-3:-1]
    patch = require_size("patch", patch)
    rows, columns = grid_shape(height, width, patch, border=border)
    if border == "pad":
        if patch > max(height, width):
            raise GeometryError("patch", expected=f"at most {max(height, width)}", got=patch)
        rest = [(0, 0)] * (pictures.ndim - 3)
        rest += [(0, rows * patch - height), (0, columns * patch - width), (0, 0)]
        pictures = np.pad(pictures, rest)
    whole = pictures[..., : rows * patch, : columns * patch, :]
    return rearrange(
        whole, "... (rows i) (columns j) c -> ... (rows columns) (i j c)", i=patch, j=patch
    )


def unpatchify(patches: Any, height: int, width: int, patch: int) -> Array:
    """Pictures from flattened patches, (..., N, D) to (..., H, W, C); the inverse of ``patchify``.

    Raises
    ------
    GeometryError : P does not divide H or W, or D is not a multiple of P²
    ShapeError : the number of patches is not (H/P)(W/P)
    ValuesError
    """
    patches = require_array("patches", patches, "... patches values")
    patch = require_size("patch", patch)
    rows, columns = grid_shape(require_size("height", height), require_size("width", width), patch)
    count, values = patches.shape[-2:]
    if count != rows * columns:
        got = Literal(f"{count} patches")
        wanted = f"{describe(rows)} x {describe(columns)} = {describe(rows * columns)}"
        raise ShapeError("patches", expected=wanted, got=got)
    exact_quotient("values of a patch", values, patch**2)
    return rearrange(
        patches,
        "... (rows columns) (i j c) -> ... (rows i) (columns j) c",
        rows=rows,
        i=patch,
        j=patch,
    )
