"""Pictures to patches and back, against loops, convolution, and the formulas in symbols."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from vitbias.architecture import plain_vit
from vitbias.errors import GeometryError, ShapeError, UnknownNameError, ValuesError
from vitbias.patches import grid_shape, patch_bands, patchify, raw_dim, token_count, unpatchify
from vitbias.vit import forward, initial_weights

SIZES = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5), st.integers(1, 3))
TYPES = [np.uint8, np.int16, np.int64, np.float16, np.float32, np.float64, ">f4"]


def loop_patches(picture, patch):
    """The definition, value by value."""
    height, width, channels = picture.shape
    return [
        [
            picture[top + i, left + j, c]
            for i in range(patch)
            for j in range(patch)
            for c in range(channels)
        ]
        for top in range(0, height - patch + 1, patch)
        for left in range(0, width - patch + 1, patch)
    ]


def numbered(*shape, kind=np.int64):
    return np.arange(np.prod(shape)).reshape(shape).astype(kind)


@pytest.mark.parametrize(("patch", "channels"), [*product([1, 2, 3, 5, 7, 11, 13], [1, 2, 3, 5])])
def test_raw_dim_counts_the_values_of_a_patch(patch, channels):
    values = raw_dim(patch, channels)
    assert values == sum(1 for _ in product(range(patch), range(patch), range(channels)))
    assert values == patchify(np.zeros((patch, patch, channels)), patch).size
    assert type(values) is int
    assert type(raw_dim(np.uint8(patch), np.int8(channels))) is int


def test_numpy_sizes_do_not_wrap():
    assert raw_dim(np.uint8(255), np.uint8(255)) == 255**3
    assert token_count(np.uint16(65535), np.uint16(65535), np.uint8(255)) == 257**2
    pictures = np.zeros((448, 448, 1), np.uint8)
    patches = patchify(pictures, np.uint8(16))
    assert patches.shape == (784, 256)
    assert unpatchify(patches, np.uint16(448), np.uint16(448), np.uint8(16)).shape == (448, 448, 1)
    assert patchify(np.zeros((300, 300, 1)), np.uint8(16), border="pad").shape == (19**2, 256)


@pytest.mark.parametrize(
    ("rows", "columns", "patch"), [(2, 3, 5), (3, 2, 7), (1, 13, 2), (11, 1, 3), (1, 1, 11)]
)
def test_counts_against_the_loop(rows, columns, patch):
    height, width = rows * patch, columns * patch
    assert grid_shape(height, width, patch) == (rows, columns)
    count = token_count(height, width, patch)
    assert count == rows * columns == len(loop_patches(np.zeros((height, width, 1)), patch))
    assert type(count) is int


def test_counts_are_exact_at_any_size():
    assert token_count(10**30, 10**31, 10) == 10**59
    assert raw_dim(2**80, 3) == 3 * 2**160
    assert grid_shape(10**30 + 1, 7, 10, border="pad") == (10**29 + 1, 1)


def test_symbols_and_integers_agree():
    H, W, P, C = sympy.symbols("H W P C", positive=True, integer=True)
    assert raw_dim(P, C) == P**2 * C
    assert sympy.simplify(token_count(H, W, P) - H * W / P**2) == 0
    for rows, columns, patch, channels in product([1, 2, 3], [5, 7], [2, 11, 13], [1, 3]):
        height, width = rows * patch, columns * patch
        values = {H: height, W: width, P: patch, C: channels}
        assert raw_dim(P, C).subs(values) == raw_dim(patch, channels)
        assert token_count(H, W, P).subs(values) == token_count(height, width, patch)
        assert token_count(H, width, patch).subs(values) == token_count(height, width, patch)
        for border, extra in product([None, "drop", "pad"], [0, 1]):
            if border is None and extra:
                continue
            values[H] = height + extra
            formal = grid_shape(H, W, P, border=border)
            counted = grid_shape(height + extra, width, patch, border=border)
            assert tuple(sympy.sympify(side).subs(values) for side in formal) == counted


@given(SIZES, st.integers(0, 2), st.sampled_from(TYPES))
def test_there_and_back(sizes, batch, kind):
    rows, columns, patch, channels = sizes
    shape = (*(2, 3)[:batch], rows * patch, columns * patch, channels)
    pictures = numbered(*shape, kind=kind)
    patches = patchify(pictures, patch)
    back = unpatchify(patches, rows * patch, columns * patch, patch)
    assert np.array_equal(back, pictures)
    assert back.dtype == patches.dtype == pictures.dtype
    again = patchify(back, patch)
    assert np.array_equal(again, patches)


@pytest.mark.parametrize(
    ("rows", "columns", "patch", "channels"),
    [(2, 3, 5, 7), (3, 5, 2, 1), (1, 1, 7, 3), (5, 2, 1, 2)],
)
def test_values_against_the_loop_and_the_docstring(rows, columns, patch, channels):
    picture = numbered(rows * patch, columns * patch, channels)
    patches = patchify(picture, patch)
    assert patches.tolist() == loop_patches(picture, patch)
    for n, i, j, c in product(range(rows * columns), range(patch), range(patch), range(channels)):
        value = picture[patch * (n // columns) + i, patch * (n % columns) + j, c]
        assert patches[n, (i * patch + j) * channels + c] == value
    batch = np.stack([picture, 2 * picture, picture[::-1]])
    for one, alone in zip(patchify(batch, patch), batch, strict=True):
        assert one.tolist() == loop_patches(alone, patch)


def test_a_projection_of_patches_is_a_convolution_with_stride(rng):
    patch, channels, width = 3, 2, 5
    picture = rng.integers(-9, 10, (2 * patch, 5 * patch, channels))
    kernel = rng.integers(-9, 10, (width, channels, patch, patch))
    projected = patchify(picture, patch) @ kernel.transpose(0, 2, 3, 1).reshape(width, -1).T
    expected = [
        [
            sum(
                int(kernel[k, c, i, j]) * int(picture[top + i, left + j, c])
                for c, i, j in product(range(channels), range(patch), range(patch))
            )
            for k in range(width)
        ]
        for top, left in product(range(0, 2 * patch, patch), range(0, 5 * patch, patch))
    ]
    assert projected.tolist() == expected


def test_moving_the_picture_by_a_patch_moves_the_patches():
    patch, rows, columns = 3, 5, 7
    picture = numbered(rows * patch, columns * patch, 2)
    grid = patchify(picture, patch).reshape(rows, columns, -1)
    for down, right in product(range(rows), range(columns)):
        moved = np.roll(picture, (down * patch, right * patch), axis=(0, 1))
        expected = np.roll(grid, (down, right), axis=(0, 1)).reshape(rows * columns, -1)
        assert np.array_equal(patchify(moved, patch), expected)


@pytest.mark.parametrize(
    ("height", "width", "patch"), [(7, 11, 3), (5, 13, 5), (2, 3, 2), (3, 8, 3)]
)
def test_border_rules_against_the_loop(height, width, patch):
    picture = numbered(height, width, 2) + 1
    dropped = patchify(picture, patch, border="drop")
    assert dropped.tolist() == loop_patches(picture, patch)
    assert len(dropped) == np.prod(grid_shape(height, width, patch, border="drop"))
    framed = np.zeros((height + patch, width + patch, 2), int)
    framed[:height, :width] = picture
    rows, columns = (sum(1 for _ in range(0, side, patch)) for side in (height, width))
    assert grid_shape(height, width, patch, border="pad") == (rows, columns)
    framed = framed[: rows * patch, : columns * patch]
    padded = patchify(picture, patch, border="pad")
    assert padded.tolist() == loop_patches(framed, patch)
    assert padded.dtype == picture.dtype
    batch = patchify(np.stack([picture, -picture])[None], patch, border="pad")
    assert np.array_equal(batch, np.stack([padded, -padded])[None])


@pytest.mark.parametrize("border", [None, "drop", "pad"])
def test_a_rule_changes_nothing_where_there_is_no_remainder(border):
    picture = numbered(6, 9, 2)
    assert np.array_equal(patchify(picture, 3, border=border), loop_patches(picture, 3))
    assert grid_shape(6, 9, 3, border=border) == (2, 3)


def test_one_patch_and_one_pixel():
    picture = numbered(5, 5, 3)
    assert patchify(picture, 5).tolist() == [picture.ravel().tolist()]
    assert patchify(picture, 1).tolist() == picture.reshape(25, 3).tolist()
    assert patchify(picture[:2], 5, border="pad").shape == (1, 75)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (225, 224, 16),
            "height: expected a multiple of 16, got 225 (remainder 1); "
            "the nearest sizes are 224 or 240",
        ),
        (
            (224, 7, 16),
            "width: expected a multiple of 16, got 7 (remainder 7); the nearest sizes are 16",
        ),
        ((0, 224, 16), "height: expected an integer >= 1, got 0"),
        ((224, -1, 16), "width: expected an integer >= 1, got -1"),
        ((224, 224, 16.0), "patch: expected an integer >= 1, got 16.0; write 16"),
        ((224, 224, True), "patch: expected an integer >= 1, got True"),
        ((224, 224, "16"), "patch: expected an integer >= 1, got '16'"),
        ((224, 224, [16, 16]), "patch: expected an integer >= 1, got [16, 16]"),
        ((224, 224, 0), "patch: expected an integer >= 1, got 0"),
    ],
)
def test_sizes_that_do_not_fit(arguments, message):
    for function in (token_count, grid_shape):
        with pytest.raises(GeometryError) as caught:
            function(*arguments)
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize(("patch", "channels", "field"), [(0, 3, "patch"), (16, 3.0, "channels")])
def test_raw_dim_refuses(patch, channels, field):
    with pytest.raises(GeometryError, match=rf"^{field}: expected an integer >= 1"):
        raw_dim(patch, channels)


def test_a_patch_larger_than_the_picture():
    picture = np.zeros((5, 7, 1))
    for border in (None, "drop"):
        with pytest.raises(GeometryError):
            patchify(picture, 11, border=border)
    with pytest.raises(GeometryError, match=r"^height: expected at least 11, got 7$"):
        grid_shape(7, 5, 11, border="drop")
    with pytest.raises(GeometryError, match=r"^height: expected at least 7, got 5$"):
        grid_shape(5, 7, 7, border="drop")
    assert patchify(picture, 7, border="pad").shape == (1, 49)
    for patch in (8, 2**80):
        with pytest.raises(GeometryError, match=rf"^patch: expected at most 7, got {patch}$"):
            patchify(picture, patch, border="pad")
    with pytest.raises(GeometryError, match="at least an integer of more than 4,300 digits"):
        grid_shape(10**5000, 10**5000, 10**5000 + 1, border="drop")


@pytest.mark.parametrize("border", ["padd", "", 3, True])
def test_unknown_rules(border):
    with pytest.raises(UnknownNameError, match=r"^border: expected one of 'drop', 'pad', got "):
        grid_shape(224, 224, 16, border=border)
    with pytest.raises(UnknownNameError):
        patchify(np.zeros((4, 4, 1)), 2, border=border)


@pytest.mark.parametrize(
    ("pictures", "kind", "message"),
    [
        (np.zeros((4, 4)), ShapeError, "axes (..., height, width, channels), got shape (4, 4)"),
        (np.zeros((4, 0, 3)), ShapeError, "got shape (4, 0, 3)"),
        (np.full((4, 4, 1), np.nan), ValuesError, "nan at index (0, 0, 0)"),
        (np.ones((4, 4, 1), bool), ValuesError, "got bool values"),
        (np.ma.ones((4, 4, 1)), ValuesError, "without a mask"),
    ],
)
def test_pictures_that_are_none(pictures, kind, message):
    with pytest.raises(kind) as caught:
        patchify(pictures, 2)
    assert str(caught.value).startswith("pictures: expected ")
    assert message in str(caught.value)


@pytest.mark.parametrize("patch", [sympy.Symbol("P"), 2.0, True, None])
def test_arrays_need_a_number_for_the_patch(patch):
    for call in (
        lambda: patchify(np.zeros((4, 4, 1)), patch),
        lambda: unpatchify(np.zeros((4, 4)), 4, 4, patch),
    ):
        with pytest.raises(GeometryError, match=r"^patch: expected an integer >= 1, got "):
            call()


@pytest.mark.parametrize(
    ("shape", "sizes", "kind", "message"),
    [
        ((5, 4), (4, 6, 2), ShapeError, "patches: expected 2 x 3 = 6, got 5 patches"),
        (
            (4,),
            (4, 4, 2),
            ShapeError,
            "patches: expected axes (..., patches, values), got shape (4,)",
        ),
        ((4, 6), (4, 4, 2), GeometryError, "values of a patch: expected a multiple of 4, got 6"),
        ((4, 4), (5, 4, 2), GeometryError, "height: expected a multiple of 2, got 5"),
        ((4, 4), (4, 4.0, 2), GeometryError, "width: expected an integer >= 1, got 4.0; write 4"),
        (
            (4, 4),
            (sympy.Symbol("H"), 4, 2),
            GeometryError,
            "height: expected an integer >= 1, got H",
        ),
        (
            (4, 4),
            (4, sympy.Symbol("W"), 2),
            GeometryError,
            "width: expected an integer >= 1, got W",
        ),
    ],
)
def test_patches_that_are_none(shape, sizes, kind, message):
    with pytest.raises(kind) as caught:
        unpatchify(np.zeros(shape), *sizes)
    assert str(caught.value).startswith(message)


@given(SIZES, st.sampled_from(TYPES), st.integers(0, 5))
def test_every_layout_is_cut_alike(sizes, kind, layout):
    rows, columns, patch, channels = sizes
    base = numbered(rows * patch, columns * patch, channels, kind=kind)
    wide = np.zeros((base.shape[0] + 2, base.shape[1] + 3, channels + 1), kind)
    wide[1:-1, 2:-1, :channels] = base
    locked = base.copy()
    locked.flags.writeable = False
    picture = [
        base,
        np.asfortranarray(base),
        np.ascontiguousarray(base.transpose(2, 0, 1)).transpose(1, 2, 0),
        wide[1:-1, 2:-1, :channels],
        np.ascontiguousarray(base[::-1, ::-1])[::-1, ::-1],
        locked,
    ][layout]
    patches = patchify(picture, patch)
    assert patches.tolist() == loop_patches(base, patch)
    assert patches.dtype == base.dtype
    assert patches.flags.writeable and not np.shares_memory(patches, picture)


@pytest.mark.parametrize("border", [None, "drop", "pad"])
@pytest.mark.parametrize("shape", [(6, 9, 2), (7, 11, 1), (2, 7, 5, 3), (7, 2, 1), (2, 7, 1)])
def test_bands_are_the_rows_of_the_grid(shape, border):
    pictures = numbered(*shape)
    try:
        expected = patchify(pictures, 3, border=border)
    except GeometryError as error:
        with pytest.raises(GeometryError) as caught:
            patch_bands(pictures, 3, border=border)
        assert str(caught.value) == str(error)
        return
    bands = [*patch_bands(pictures, 3, border=border)]
    assert len(bands) == grid_shape(*shape[-3:-1], 3, border=border)[0]
    assert np.array_equal(np.concatenate(bands, axis=-2), expected)
    assert bands[0].dtype == expected.dtype


def test_bands_refuse_at_once_what_needs_no_reading():
    for picture, kind in ((np.zeros((4, 4)), ShapeError), (np.ones((4, 4, 1), bool), ValuesError)):
        with pytest.raises(kind):
            patch_bands(picture, 2)
    with pytest.raises(UnknownNameError):
        patch_bands(np.zeros((4, 4, 1)), 2, border="padd")
    picture = np.zeros((4, 4, 1))
    picture[3, 1] = np.inf
    bands = patch_bands(picture, 2)
    assert next(bands).shape == (2, 4)
    with pytest.raises(ValuesError, match=r"inf at index \(1, 1, 0\)"):
        next(bands)


def test_36_megapixels_in_bounded_memory(tmp_path):
    height, width = 4912, 7360
    picture = np.memmap(tmp_path / "picture", np.uint8, "w+", shape=(height, width, 3))
    picture[::97, ::89] = 7
    picture[-16:] = 5
    tracemalloc.start()
    try:
        count, total = 0, 0
        for band in patch_bands(picture, 16):
            count += len(band)
            total += int(band.sum(dtype=np.int64))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == token_count(height, width, 16) == 141_220
    assert band.shape == (460, 768) and (band == 5).all()
    assert total == sum(int(row.sum(dtype=np.int64)) for row in picture)
    assert peak < picture.nbytes / 50  # one band is a 307th


def test_pictures_of_other_kinds(rng):
    sixteen = rng.integers(0, 2**16, (6, 4, 3), dtype=np.uint16)
    sixteen[0, 0] = 0, 1, 65535
    assert patchify(sixteen, 2).tolist() == loop_patches(sixteen, 2)
    assert patchify(sixteen.astype(">u2"), 2).tolist() == loop_patches(sixteen, 2)
    assert patchify(sixteen, 2).dtype == np.uint16
    four = rng.integers(0, 256, (4, 4, 4), dtype=np.uint8)
    assert patchify(four, 2).tolist() == loop_patches(four, 2)
    grey = four[..., 0]
    for cut in (patchify, patch_bands):
        with pytest.raises(ShapeError, match=r"; a grey picture is picture\[\.\.\., None\]$"):
            cut(grey, 2)
        with pytest.raises(ValuesError, match="complex128 values"):
            cut(four.astype(complex), 2)
        with pytest.raises(GeometryError, match="height: expected a multiple of 5, got 4"):
            cut(four, 5)
    assert patchify(grey[..., None], 2).tolist() == loop_patches(grey[..., None], 2)
    image = Image.fromarray(four[..., :3])
    assert patchify(image, 2).tolist() == loop_patches(four[..., :3], 2)


def test_a_model_of_three_channels_refuses_four(rng):
    model = plain_vit(4, 2, width=3, depth=1, heads=3, classes=2)
    with pytest.raises(ShapeError, match=r"axes \(\.\.\., 4, 4, 3\), got shape \(4, 4, 4\)"):
        forward(np.zeros((4, 4, 4)), initial_weights(model, rng), model)
