"""One description of a pipeline: what it derives, and what it refuses."""

from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitbias.architecture import Architecture, Block, Stage
from vitbias.errors import GeometryError, ShapeError, UnknownNameError, ValuesError

PLAIN = Architecture("plain", (21, 35), 7, (Stage(3, 22, 11),), channels=2, classes=13)
WINDOWED = dict(position="relative", class_token=False, read_out="mean", classes=5)


def pyramid(side=112, patch=4, window=7, depths=(2, 2), **changes):
    stages = tuple(Stage(d, 10 * 2**k, 5, window=window) for k, d in enumerate(depths))
    return Architecture("pyramid", side, patch, stages, **{**WINDOWED, **changes})


def test_a_plain_model():
    assert PLAIN.grid == (3, 5)
    assert (PLAIN.patches, PLAIN.extra_tokens, PLAIN.tokens) == (15, 1, 16)
    assert (PLAIN.raw_dim, PLAIN.width, PLAIN.depth) == (7 * 7 * 2, 22, 3)
    block = Block(0, (3, 5), 16, 22, 11, 88, None, 0, (3, 5))
    assert PLAIN.blocks == (block,) * 3
    assert block.sees_all
    assert PLAIN.position_extra == 1


def test_one_number_stands_for_both_sides():
    assert Architecture("square", np.uint8(14), 7, [Stage(1, 2, 1)]).image_px == (14, 14)
    assert replace(PLAIN, image_px=np.array([14, 21])).image_px == (14, 21)


def test_every_second_block_is_shifted():
    model = pyramid(depths=(3, 2, 1))
    assert [(b.stage, b.grid, b.window, b.shift) for b in model.blocks] == [
        *((0, (28, 28), 7, 0), (0, (28, 28), 7, 3), (0, (28, 28), 7, 0)),
        *((1, (14, 14), 7, 0), (1, (14, 14), 7, 3)),
        (2, (7, 7), 7, 0),
    ]
    assert [b.tokens for b in model.blocks] == [784] * 3 + [196] * 2 + [49]
    assert [b.width for b in model.blocks] == [10] * 3 + [20] * 2 + [40]
    assert [b.sees_all for b in model.blocks] == [False] * 5 + [True]


def test_a_shift_can_be_named():
    assert Stage(2, 4, 2, window=7).shift == 3
    assert Stage(2, 4, 2, window=6).shift == 3
    assert Stage(2, 4, 2, window=1).shift == 0
    assert Stage(2, 4, 2).shift is None
    stage = Stage(2, 4, 2, window=7, shift=0)
    model = Architecture("regular", 28, 1, (stage,), **WINDOWED)
    assert [b.shift for b in model.blocks] == [0, 0]
    stage = Stage(2, 4, 2, window=7, shift=6)
    assert [b.shift for b in replace(model, stages=(stage,)).blocks] == [0, 6]


@given(grid=st.integers(1, 12), window=st.integers(1, 14))
def test_a_window_is_never_larger_than_its_grid(grid, window):
    stages = (Stage(2, 2, 1, window=window),)
    model = Architecture("any", grid * 3, 3, stages, border="pad", **WINDOWED)
    first, second = model.blocks
    assert first.window == min(grid, window)
    assert second.shift == (window // 2 if grid > window else 0)
    assert all(side % first.window == 0 and 0 <= side - grid < window for side in first.padded)
    assert first.sees_all == (grid <= window)


def test_the_shorter_side_decides():
    stages = (Stage(2, 2, 1, window=7),)
    model = Architecture("wide", (5, 20), 1, stages, **WINDOWED)
    assert [(b.window, b.shift, b.sees_all) for b in model.blocks] == [(5, 0, False)] * 2


def test_border_rules():
    with pytest.raises(GeometryError, match=r"^height: expected a multiple of 16, got 230"):
        Architecture("ragged", 230, 16, (Stage(1, 2, 1),))
    dropped = Architecture("ragged", (230, 245), 16, (Stage(1, 2, 1),), border="drop")
    assert dropped.grid == (14, 15)
    padded = replace(dropped, border="pad")
    assert padded.grid == (15, 16)
    with pytest.raises(GeometryError, match=r"^height: expected at least 16, got 15$"):
        Architecture("small", (15, 16), 16, (Stage(1, 2, 1),), border="drop")
    for border in (None, "drop"):
        with pytest.raises(GeometryError, match=r"^grid of stage 1: expected a multiple of 7"):
            pyramid(side=120, border=border)
        with pytest.raises(GeometryError, match=r"^grid of stage 1: expected a multiple of 2"):
            pyramid(side=84, border=border, depths=(1, 1))
    ragged = pyramid(side=118, border="pad")
    assert [(b.grid, b.padded) for b in ragged.blocks[::2]] == [
        ((30, 30), (35, 35)),
        ((15, 15), (21, 21)),
    ]


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        (dict(name=""), ValuesError, "name: expected 1 to 400 printable characters, got ''"),
        (dict(name="a\n"), ValuesError, "name: expected 1 to 400 printable"),
        (dict(source=5), ValuesError, "source: expected 1 to 400 printable"),
        (dict(source="x" * 401), ValuesError, "source: expected 1 to 400 printable"),
        (dict(patch_norm=1), ValuesError, "patch_norm: expected an instance of bool, got 1"),
        (dict(patch_px=7.0), GeometryError, "patch_px: expected an integer >= 1, got 7.0; write 7"),
        (dict(channels=0), GeometryError, "channels: expected an integer >= 1, got 0"),
        (dict(registers=-1), GeometryError, "registers: expected an integer >= 0, got -1"),
        (dict(image_px=0), GeometryError, "image_px: expected an integer >= 1, got 0"),
        (dict(image_px=21.0), ShapeError, "image_px: expected a sequence, got 21.0"),
        (dict(image_px=(21, 35, 3)), ShapeError, "image_px: expected (height, width)"),
        (dict(image_px="21"), ShapeError, "image_px: expected a sequence"),
        (dict(stages=()), ShapeError, "stages: expected at least one stage, got none"),
        (dict(stages=Stage(1, 2, 1)), ShapeError, "stages: expected a sequence"),
        (dict(stages=[7]), ValuesError, "stages: expected an instance of Stage, got 7"),
        (dict(position="learnt"), UnknownNameError, "position: expected one of 'continuous"),
        (dict(read_out="max"), UnknownNameError, "read_out: expected one of 'attention"),
        (dict(supervision="label"), UnknownNameError, "did you mean 'labels'"),
        (dict(border="crop"), UnknownNameError, "border: expected one of 'drop', 'pad'"),
        (dict(class_token=False), ValuesError, "class_token: expected True with the read-out"),
        (
            dict(read_out="class and distillation"),
            ValuesError,
            "distillation_token: expected True with the read-out 'class and distillation'",
        ),
        (dict(classes=None), ValuesError, "classes: expected a number with the read-out 'class'"),
        (
            dict(read_out="none"),
            ValuesError,
            "classes: expected None with the read-out 'none', got",
        ),
        (
            dict(read_out="none", classes=None, representation=5),
            ValuesError,
            "representation: expected None without classes, got 5",
        ),
        (dict(classes=0), GeometryError, "classes: expected an integer >= 1, got 0"),
        (dict(representation=0), GeometryError, "representation: expected an integer >= 1, got 0"),
        (
            dict(position="relative", registers=2),
            ValuesError,
            "extra tokens: expected no extra tokens beside relative positions: they have no off",
        ),
        (dict(position="continuous relative"), ValuesError, "window: expected windows in every"),
        (dict(class_blocks=-1), GeometryError, "class_blocks: expected an integer >= 0, got -1"),
        (dict(class_blocks=2, registers=1), ValuesError, "class_blocks: expected a class token"),
        (
            dict(class_blocks=2, class_token=False, read_out="mean"),
            ValuesError,
            "class_blocks: expected a class token and no other extra token, got 2",
        ),
        (dict(class_blocks=2, position_extra=1), GeometryError, "position_extra: expected at most"),
        (dict(gated_mlp=2), ValuesError, "gated_mlp: expected an instance of bool, got 2"),
        (dict(position_extra=2), GeometryError, "position_extra: expected at most 1 extra"),
        (dict(position="none", position_extra=1), GeometryError, "position_extra: expected at"),
        (dict(position_extra=True), GeometryError, "position_extra: expected an integer >= 0"),
        (dict(supervision="hard distillation"), ValuesError, "teacher: expected a name with dist"),
        (dict(teacher="somebody"), ValuesError, "teacher: expected a name with distillation"),
        (
            dict(supervision="soft distillation", teacher=""),
            ValuesError,
            "teacher: expected 1 to 400 printable characters",
        ),
        (
            dict(stages=(Stage(1, 22, 1), Stage(1, 44, 1))),
            ValuesError,
            "extra tokens: expected no extra tokens beside windows or patch merging, got 1",
        ),
        (dict(stages=(Stage(1, 22, 1, window=1),)), ValuesError, "extra tokens: expected no extra"),
        (
            dict(stages=(Stage(1, 22, 1), Stage(1, 33, 1))),
            GeometryError,
            "stages: expected twice the width 22 of the stage before, got 33",
        ),
        (dict(image_px=(22, 35)), GeometryError, "height: expected a multiple of 7, got 22"),
        (dict(image_px=(21, 36)), GeometryError, "width: expected a multiple of 7, got 36"),
    ],
)
def test_what_does_not_fit_is_refused(changes, kind, message):
    with pytest.raises(kind) as caught:
        replace(PLAIN, **{"position_extra": None, **changes})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (dict(depth=0), "depth: expected an integer >= 1, got 0"),
        (dict(width=True), "width: expected an integer >= 1, got True"),
        (dict(heads=5), "heads: expected a divisor of the width 12, got 5"),
        (dict(mlp_ratio=4.0), "mlp_ratio: expected an integer >= 1, got 4.0; write 4"),
        (dict(mlp_ratio=0), "mlp_ratio: expected an integer >= 1, got 0"),
        (dict(mlp_ratio=Fraction(1, 5)), "mlp_ratio: expected a positive ratio that makes a whole"),
        (dict(mlp_ratio=Fraction(-1, 2)), "mlp_ratio: expected a positive ratio"),
        (dict(window=0), "window: expected an integer >= 1, got 0"),
        (dict(window=7, shift=7), "shift: expected less than the window, 7, got 7"),
        (dict(window=7, shift=-1), "shift: expected an integer >= 0, got -1"),
        (dict(shift=3), "shift: expected None in a stage without windows, got 3"),
    ],
)
def test_a_stage_refuses_sizes_that_do_not_fit(sizes, message):
    with pytest.raises(GeometryError) as caught:
        Stage(**{"depth": 2, "width": 12, "heads": 3, **sizes})
    assert str(caught.value).startswith(message)


def test_ratios():
    assert Stage(1, 12, 3).hidden == 48
    assert Stage(1, 12, 3, mlp_ratio=Fraction(7, 3)).hidden == 28
    assert type(Stage(1, 12, 3, mlp_ratio=Fraction(8, 2)).mlp_ratio) is int


def test_sizes_become_plain_integers_and_stay_as_they_are():
    stage = Stage(np.uint8(2), np.uint8(200), np.uint8(100), np.uint8(4))
    assert stage.hidden == 800
    assert all(type(getattr(stage, name)) is int for name in ("depth", "width", "heads"))
    with pytest.raises(FrozenInstanceError):
        stage.width = 3
    assert hash(PLAIN) == hash(replace(PLAIN))
    assert replace(PLAIN, stages=[*PLAIN.stages]) == PLAIN


def test_tokens_that_nobody_reads_and_tables_that_skip_tokens():
    model = replace(PLAIN, registers=4, distillation_token=True, position_extra=2)
    assert (model.extra_tokens, model.tokens, model.position_extra) == (6, 21, 2)
    assert all(block.tokens == 21 for block in model.blocks)
    assert replace(PLAIN, position="none", position_extra=None).position_extra == 0
    assert replace(PLAIN, read_out="none", classes=None).classes is None
    taught = replace(PLAIN, supervision="hard distillation", teacher="RegNetY-16GF")
    assert taught.teacher == "RegNetY-16GF"


def test_a_list_of_blocks_has_a_limit_and_the_layout_does_not():
    deep = Architecture("deep", 14, 7, [Stage(10**12, 2, 1)])
    with pytest.raises(GeometryError, match=r"^depth: expected at most 65,536 blocks, got 10{12};"):
        _ = deep.blocks
    assert deep.depth == 10**12 and len(deep.layout) == 1


def test_a_class_token_of_class_blocks_is_in_no_block_before_them():
    model = replace(PLAIN, class_blocks=2, position_extra=None)
    assert (model.extra_tokens, model.block_extra, model.position_extra) == (1, 0, 0)
    assert model.tokens == model.patches == model.blocks[0].tokens


def test_a_pooling_read_out_goes_with_and_without_a_classifier():
    for classes in (None, 7):
        model = replace(PLAIN, read_out="attention pool", classes=classes)
        assert model.classes == classes


def test_the_layout_is_made_once_and_is_no_field():
    assert PLAIN.layout is PLAIN.layout
    assert replace(PLAIN) == PLAIN and hash(replace(PLAIN)) == hash(PLAIN)
