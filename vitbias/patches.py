"""Pictures to patches and back.

Notation: H, W picture height and width [px]; C channels; P patch side [px]; D = P²C values of a raw
patch; N = (H/P)(W/P) patches. Pictures are height x width x channels, any batch axes in front.

Convention: patches are numbered row by row; inside a patch the values run row by row, channels fastest.
A convolution weight of shape (d, C, P, P) has its channels slowest: transpose it to (d, P, P, C) first.

Pictures of every integer and float type are cut as they are, in their own byte order: 8 and 16 bits, and
four channels (RGBA) as four. A grey picture (H, W) needs its axis of channels: ``picture[..., None]``. What
``numpy.asarray`` reads, such as a Pillow image, is read. Truth values and complex numbers are refused.

Source: Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2), section 3.1: the picture is reshaped into a
sequence of flattened patches, N = HW/P².
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from einops import rearrange

from vitbias.arrays import Array, as_array, is_finite, require_array, require_numbers
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    describe,
    require_size,
)
from vitbias.formula import Size, as_size, cells, exact_quotient, raw_dim

__all__ = ["grid_shape", "patch_bands", "patchify", "raw_dim", "token_count", "unpatchify"]

# read twice, the second time from the cache; large enough that the loop costs nothing
PIECE_BYTES = 2**20


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
    axes = "... height width channels"
    pictures = require_numbers("pictures", _with_channels(pictures), axes)
    rows, columns = _grid(pictures, patch, border)
    patch = int(patch)
    patches = _no_patches(pictures, rows, columns, patch)
    for piece in _pieces(pictures):
        if not is_finite(pictures[piece]):
            require_array("pictures", pictures, axes)  # raises, with the index in the whole
        _cut(pictures[piece], patches[piece], patch)
    return patches.reshape(*pictures.shape[:-3], rows * columns, -1)


def patch_bands(pictures: Any, patch: int, *, border: str | None = None) -> Iterator[Array]:
    """The rows of the patch grid one after another, each (..., W/P, D); in order they are ``patchify``'s.

    Only the band that is asked for is read, so a memory-mapped picture larger than memory passes: beside
    the file's own pages, one band and its patches are held.

    Parameters
    ----------
    pictures, patch, border : as in ``patchify``

    Raises
    ------
    GeometryError, ShapeError, ValuesError, UnknownNameError : as ``patchify``, at once; NaN or infinity when
        its band is reached, with the index inside the band
    """
    array = require_numbers("pictures", _with_channels(pictures), "... height width channels")
    rows, columns = _grid(array, patch, border)
    return _bands(array, rows, columns, int(patch))


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


def _with_channels(pictures: Any) -> Array:
    array = as_array("pictures", pictures)
    if array.ndim == 2:
        raise ShapeError(
            "pictures",
            expected="axes (..., height, width, channels)",
            got=Literal(f"shape {array.shape}"),
            hint="a grey picture is picture[..., None]",
        )
    return array


def _grid(pictures: Array, patch: int, border: str | None) -> tuple[int, int]:
    height, width = pictures.shape[-3:-1]
    patch = require_size("patch", patch)
    rows, columns = grid_shape(height, width, patch, border=border)
    if border == "pad" and patch > max(height, width):
        raise GeometryError("patch", expected=f"at most {max(height, width)}", got=patch)
    return rows, columns


def _pieces(pictures: Array) -> list[Any]:
    """How a batch of floats is cut: a piece is still in the cache when it is read after its check."""
    if pictures.ndim == 3 or pictures.dtype.kind != "f":
        return [...]
    step = max(1, PIECE_BYTES // pictures[0].nbytes)
    return [slice(start, start + step) for start in range(0, len(pictures), step)]


def _bands(pictures: Array, rows: int, columns: int, patch: int) -> Iterator[Array]:
    for top in range(0, rows * patch, patch):
        band = require_array(
            "pictures", pictures[..., top : top + patch, :, :], "... height width channels"
        )
        patches = _no_patches(band, 1, columns, patch)
        _cut(band, patches, patch)
        yield patches.reshape(*band.shape[:-3], columns, -1)


def _no_patches(pictures: Array, rows: int, columns: int, patch: int) -> Array:
    """Memory for the patches: (..., rows, columns, patch, run), a run being a patch's row of values."""
    *batch, _, _, channels = pictures.shape
    return np.empty((*batch, rows, columns, patch, patch * channels), pictures.dtype)


def _cut(pictures: Array, patches: Array, patch: int) -> None:
    """Fills the patches; what lies outside the grid is dropped, what is missing is 0."""
    *batch, height, width, channels = pictures.shape
    rows, columns, _, run = patches.shape[-4:]
    below, right = (max(0, n * patch - side) for n, side in ((rows, height), (columns, width)))
    if below or right:
        pictures = np.pad(pictures, [(0, 0)] * len(batch) + [(0, below), (0, right), (0, 0)])
    whole = pictures[..., : rows * patch, : columns * patch, :]
    *_, pixel, channel = whole.strides
    if pixel == channels * whole.itemsize and (channels == 1 or channel == whole.itemsize):
        # one item for the run of a patch's row that lies together: NumPy would copy value by value
        item = np.dtype((np.void, run * whole.itemsize))
        runs = whole.reshape(*batch, rows, patch, columns, run).view(item)[..., 0]
        patches.view(item)[..., 0] = runs.swapaxes(-1, -2)
    else:
        apart = whole.reshape(*batch, rows, patch, columns, patch, channels)
        patches.reshape(*apart.swapaxes(-4, -3).shape)[...] = apart.swapaxes(-4, -3)
