"""Counts by formula against counts by enumeration: of weight shapes, and of executed products."""

from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from vitbias import counts, windows
from vitbias.architecture import Architecture, Stage, plain_vit
from vitbias.errors import GeometryError, ValuesError
from vitbias.readers.catalogue import NAMES, published
from vitbias.vit import initial_weights

N, d, r, w, L, K, h = sympy.symbols("N d r w L K h", integer=True, positive=True)
SMALL = Architecture("small", (21, 35), 7, (Stage(3, 22, 11),), channels=2, classes=13)


def weight_shapes(model):
    """Every learned array of a model, written down part by part; no formula of the library."""
    d0, raw = model.width, model.patch_px**2 * model.channels
    yield from [("embedding", (d0, raw))] + [("embedding", (d0,))] * model.patch_bias
    yield from [("norms", (d0,))] * (2 * model.patch_norm)
    yield from [("extra_tokens", (d0,))] * model.extra_tokens
    if model.position == "learned":
        yield "position", (model.grid[0] * model.grid[1] + model.position_extra, d0)
    for block in model.blocks:
        d1, hidden = block.width, block.hidden
        if model.position == "relative":
            rows, columns = block.grid if block.window is None else (block.window,) * 2
            offsets = {
                (a - b, c - e)
                for a in range(rows)
                for b in range(rows)
                for c in range(columns)
                for e in range(columns)
            }
            yield "position", (len(offsets), block.heads)
        for name in ("query", "key", "value", "output"):
            yield "attention", (d1, d1)
            if name == "output" or model.qkv_bias:
                yield "attention", (d1,)
        yield from [
            ("mlp", (hidden, d1)),
            ("mlp", (hidden,)),
            ("mlp", (d1, hidden)),
            ("mlp", (d1,)),
        ]
        yield from [("norms", (d1,))] * (4 + 2 * model.layer_scale)
    for before, after in zip(model.stages, model.stages[1:], strict=False):
        yield "merging", (after.width, 4 * before.width)
        yield from [("merging", (4 * before.width,))] * 2
    last = model.stages[-1].width
    yield from [("norms", (last,))] * (2 * model.final_norm)
    if model.classes:
        if model.representation:
            yield from [
                ("read_out", (model.representation, last)),
                ("read_out", (model.representation,)),
            ]
            last = model.representation
        for _ in range(2 if model.read_out == "class and distillation" else 1):
            yield from [("read_out", (model.classes, last)), ("read_out", (model.classes,))]


def products(model):
    """(component, batch, rows, inner, columns) of every matrix product, block by block."""
    (rows, columns), d0 = model.grid, model.width
    yield "embedding", 1, rows * columns, model.patch_px**2 * model.channels, d0
    stage = 0
    for block in model.blocks:
        if block.stage > stage:
            stage, half = block.stage, block.width // 2
            yield "merging", 1, block.grid[0] * block.grid[1], 4 * half, 2 * half
        tokens, head = block.tokens, block.width // block.heads
        queries, sequences = tokens, block.heads
        if block.window is not None:
            queries = block.window**2
            sequences = block.heads * block.padded[0] * block.padded[1] // queries
        held = queries * sequences // block.heads
        yield from [("projections", 1, held, block.width, block.width)] * 4
        yield "pairs", sequences, queries, head, queries
        yield "pairs", sequences, queries, queries, head
        yield "mlp", 1, tokens, block.width, block.hidden
        yield "mlp", 1, tokens, block.hidden, block.width
    last = model.stages[-1].width
    if model.representation:
        yield "read_out", 1, 1, last, model.representation
        last = model.representation
    for _ in range(2 if model.read_out == "class and distillation" else 1):
        yield "read_out", 1, 1, last, model.classes or 0


def assert_enumerated(model):
    found = dict.fromkeys(vars(counts.params(model)), 0)
    for component, shape in weight_shapes(model):
        found[component] += prod(shape)
    assert vars(counts.params(model)) == found
    assert counts.params(model).total == sum(found.values())
    done = dict.fromkeys(vars(counts.macs(model)), 0)
    for component, *sizes in products(model):
        done[component] += prod(sizes)
    assert vars(counts.macs(model)) == done
    assert counts.macs(model).total == sum(done.values())


@pytest.mark.parametrize("name", NAMES)
def test_published_models(name):
    assert_enumerated(published(name))


VARIANTS = {
    "registers": dict(registers=4, distillation_token=True, position_extra=1),
    "two classifiers": dict(distillation_token=True, read_out="class and distillation"),
    "no classifier": dict(read_out="none", classes=None),
    "pre-training": dict(representation=17),
    "no positions": dict(position="none", position_extra=None),
    "fixed positions": dict(position="sine-cosine"),
    "no biases": dict(qkv_bias=False, patch_bias=False),
    "no norm": dict(final_norm=False),
    "scales": dict(layer_scale=True, patch_norm=True),
    "dropped border": dict(image_px=(23, 41), border="drop"),
    "padded border": dict(image_px=(23, 41), border="pad"),
    "odd ratio": dict(stages=(Stage(3, 22, 11, mlp_ratio=Fraction(5, 2)),)),
}
PYRAMID = dict(position="relative", class_token=False, read_out="mean", position_extra=None)
VARIANTS |= {
    "global relative": PYRAMID,
    "one stage of windows": dict(PYRAMID, stages=(Stage(3, 22, 11, window=3),), image_px=(42, 63)),
    "pyramid": dict(
        PYRAMID, stages=(Stage(1, 6, 3, window=2), Stage(2, 12, 3, window=2)), image_px=(56, 84)
    ),
    "padded pyramid": dict(
        PYRAMID,
        stages=(Stage(1, 6, 3, window=5), Stage(2, 12, 3, window=4), Stage(2, 24, 4)),
        image_px=(73, 111),
        border="pad",
    ),
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_other_models(changes):
    assert_enumerated(replace(SMALL, **changes))


def test_fixed_positions_are_not_learned():
    assert counts.params(replace(SMALL, position="sine-cosine")).position == 0
    assert counts.params(SMALL).position == 16 * 22


def test_weights_of_the_small_transformer(rng):
    """The NumPy model's own arrays, class token or not, positions or not."""

    def held(value):
        if isinstance(value, np.ndarray):
            return value.size
        parts = vars(value).values() if hasattr(value, "__dict__") else value
        return sum(held(part) for part in parts if part is not None)

    for read_out, position in (("class", "learned"), ("mean", "none")):
        sizes = (21, 7, 22, 3, 11, 13)
        parts = dict(mlp_ratio=5, read_out=read_out, position=position, channels=2)
        model = plain_vit(*sizes, **parts)
        described = Architecture(
            "same",
            21,
            7,
            (Stage(3, 22, 11, mlp_ratio=5),),
            position=position,
            class_token=read_out == "class",
            read_out=read_out,
            classes=13,
            channels=2,
        )
        assert model == replace(described, name=model.name)
        assert counts.params(model).total == held(initial_weights(model, rng))


def test_the_plain_formulas_are_the_report():
    for name in ("ViT-B/16", "ViT-H/14", "DeiT-B distilled"):
        model, two = published(name), 1 + ("distilled" in name)
        sizes = (model.patches, model.raw_dim, model.width, model.depth, 1000)
        options = dict(extra=two, heads_out=two)
        assert counts.vit_params(*sizes, **options) == counts.params(model).total
        assert counts.vit_macs(*sizes, **options) == counts.macs(model).total


def test_symbols_give_the_known_polynomials():
    same = [
        (counts.msa_macs(N, d), 4 * N * d**2 + 2 * N**2 * d),
        (counts.window_msa_macs(N, d, w), 4 * N * d**2 + 2 * w**2 * N * d),
        (counts.mlp_macs(N, d, r), 2 * r * N * d**2),
        (counts.block_macs(N, d), 12 * N * d**2 + 2 * N**2 * d),
        (counts.block_macs(N, d, window=w), 12 * N * d**2 + 2 * w**2 * N * d),
        (counts.merging_macs(N, d), 2 * N * d**2),
        (counts.head_macs(d, K), d * K),
        (counts.block_params(d), 12 * d**2 + 13 * d),
        (counts.merging_params(d), 8 * d**2 + 8 * d),
        (counts.relative_table_params(w, h), (2 * w - 1) ** 2 * h),
        (counts.attention_bytes(N, h, L, 2), 2 * L * h * N**2),
        (counts.training_flops(N, K), 6 * N * K),
        (
            counts.vit_params(N, r, d, L, K),
            r * d + d + d + (N + 1) * d + L * (12 * d**2 + 13 * d) + 2 * d + d * K + K,
        ),
    ]
    for left, right in same:
        assert sympy.expand(left - right) == 0


@settings(max_examples=20)
@given(
    tokens=st.integers(1, 40),
    width=st.integers(1, 30),
    ratio=st.integers(1, 5),
    depth=st.integers(1, 4),
)
def test_symbols_and_integers_agree(tokens, width, ratio, depth):
    values = {N: tokens, d: width, r: ratio, L: depth}
    for function, formal in (
        (counts.block_macs, (N, d, r)),
        (lambda *s: counts.vit_params(s[0], 12, s[1], s[3], 7, ratio=s[2]), (N, d, r, L)),
        (lambda *s: counts.vit_macs(s[0], 12, s[1], s[3], 7, ratio=s[2]), (N, d, r, L)),
    ):
        counted = function(*(values[symbol] for symbol in formal))
        assert function(*formal).subs(values) == counted


@given(windows=st.integers(1, 6), window=st.integers(1, 6), width=st.integers(1, 9))
def test_windows_compute_what_separate_sequences_do(windows, window, width):
    tokens = windows * window**2
    assert counts.window_msa_macs(tokens, width, window) == windows * counts.msa_macs(
        window**2, width
    )


def test_bytes_that_autograd_was_seen_to_keep():
    """timm 1.0.31, ViT-B/16 without fused attention, float32: 22,353,984 bytes of score maps."""
    assert counts.attention_bytes(197, 12, 12) == 22_353_984
    assert counts.attention_bytes(197, 12, bytes_per_value=2) == 197 * 197 * 12 * 2


def test_large_sizes_do_not_wrap_around():
    assert counts.msa_macs(np.uint8(200), np.uint8(100)) == 4 * 200 * 100**2 + 2 * 200**2 * 100
    assert counts.flops(10**30) == 2 * 10**30
    assert counts.training_flops(0, 5) == counts.flops(0) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: counts.msa_macs(0, 5), "tokens: expected an integer >= 1, got 0"),
        (lambda: counts.msa_macs(5, 5.0), "width: expected an integer >= 1, got 5.0; write 5"),
        (lambda: counts.window_msa_macs(10, 5, 3), "tokens: expected a multiple of 9, got 10"),
        (lambda: counts.window_msa_macs(4, 5, 3), "tokens: expected a multiple of 9, got 4"),
        (lambda: counts.merging_macs(10, 5), "tokens: expected a multiple of 4, got 10"),
        (lambda: counts.mlp_params(8, 0), "ratio: expected an integer >= 1, got 0"),
        (lambda: counts.mlp_macs(7, 8, Fraction(1, 3)), "ratio: expected a positive ratio that"),
        (lambda: counts.mlp_macs(7, 8, Fraction(-1, 2)), "ratio: expected a positive ratio that"),
        (lambda: counts.vit_params(9, 4, 2, 1, 3, extra=-1), "extra: expected an integer >= 0"),
        (
            lambda: counts.vit_macs(9, 4, 2, 1, 3, heads_out=0),
            "heads_out: expected an integer >= 1",
        ),
        (lambda: counts.attention_bytes(9, 4, 2, 0), "bytes_per_value: expected an integer >= 1"),
        (lambda: counts.training_flops(9, -1), "images: expected an integer >= 0, got -1"),
    ],
)
def test_what_is_no_size(call, message):
    with pytest.raises(GeometryError) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_ratios_of_symbols():
    assert counts.mlp_params(d, Fraction(1, 2)) == d**2 + sympy.Rational(3, 2) * d


def test_what_is_no_architecture_or_truth_value():
    for call in (counts.params, counts.macs):
        with pytest.raises(ValuesError, match=r"^architecture: expected an instance of Architec"):
            call("ViT-B/16")
    with pytest.raises(ValuesError, match=r"^bias: expected an instance of bool, got 1"):
        counts.patch_params(4, 5, bias=1)
    with pytest.raises(ValuesError, match=r"^qkv_bias: expected an instance of bool, got None"):
        counts.msa_params(4, qkv_bias=None)


@pytest.mark.parametrize("name", NAMES)
def test_macs_over_pairs_are_those_of_the_counted_pairs(name):
    """Two products of width d over each pair that windows.py counts, layer by layer."""
    model, total = published(name), 0
    for block in model.blocks:
        pairs = windows.global_pairs(block.tokens)
        if block.window is not None:
            pairs = windows.padded_pairs(block.grid[0], block.window)
            assert pairs == windows.window_pairs(block.tokens, block.window)
        total += 2 * block.width * pairs
    assert counts.macs(model).pairs == total


@pytest.mark.parametrize("side", [64, 72, 80])
def test_padded_windows_compute_the_padded_pairs(side):
    stage = Stage(3, 22, 11, window=7)
    model = Architecture(
        "padded",
        5 * side,
        5,
        (stage,),
        position="relative",
        class_token=False,
        read_out="mean",
        border="pad",
    )
    assert counts.macs(model).pairs == 3 * 2 * 22 * windows.padded_pairs(side, 7)


@pytest.mark.parametrize("side", [5, 7, 8, 14, 56])
@pytest.mark.parametrize("window", [1, 4, 7])
def test_a_grid_no_larger_than_the_window_is_one_window(side, window):
    stage = Stage(2, 22, 11, window=window)
    model = Architecture(
        "small grid",
        side,
        1,
        (stage,),
        position="relative",
        class_token=False,
        read_out="mean",
        border="pad",
    )
    block = model.blocks[1]
    whole = side <= window
    assert (block.window, block.shift) == ((side, 0) if whole else (window, window // 2))
    assert block.sees_all == whole


def test_the_further_parts_in_symbols():
    d, h, r, n, w = sympy.symbols("d h r n w", positive=True, integer=True)
    assert counts.msa_params(d, key_bias=False) == 4 * d**2 + 3 * d
    assert counts.msa_params(d, qkv_bias=False, key_bias=False) == 4 * d**2 + d
    gated = counts.mlp_params(d, r, gated=True)
    assert sympy.expand(gated - 3 * r * d**2 - 2 * r * d - d) == 0
    # two thirds of the hidden width and three maps: as many weights as two maps
    two_thirds = gated.subs(r, sympy.Rational(8, 3)) - counts.mlp_params(d)
    assert sympy.expand(two_thirds) == sympy.Rational(16 - 12, 3) * d
    assert counts.merging_params(d, post_norm=True) == counts.merging_params(d) - 4 * d
    assert counts.talking_params(h) == 2 * h**2 + 2 * h
    assert counts.talking_macs(n, h) == 2 * n**2 * h**2
    assert counts.offset_mlp_params(h) == 512 * h + 1536
    macs = counts.offset_mlp_macs(w, h)
    assert sympy.expand(macs - (2 * w - 1) ** 2 * (1024 + 512 * h)) == 0
    assert sympy.expand(counts.query_macs(n, d) - 2 * d**2 - 2 * n * d**2 - 2 * n * d) == 0
    assert sympy.expand(counts.pooling_params(d) - 12 * d**2 - 12 * d) == 0
    assert counts.mlp_macs(n, d, gated=True) == 12 * n * d**2


def test_one_query_asks_as_often_as_one_row_of_attention():
    """All queries, one after the other, spend what attention spends, but make keys and values each time."""
    n, d = 11, 13
    again = (n - 1) * 2 * n * d**2
    assert n * counts.query_macs(n, d) == counts.msa_macs(n, d) + again


@pytest.mark.parametrize(
    ("change", "params", "macs"),
    [
        (dict(key_bias=False), -3 * 22, 0),
        (dict(talking_heads=True), 3 * 2 * (121 + 11), 3 * 2 * 13**2 * 121),
        (dict(cosine_attention=True), 3 * 11, 0),
        (dict(attention_norm=True), 3 * 2 * 22, 0),
        (dict(mlp_norm=True), 3 * 2 * 88, 0),
        (dict(gated_mlp=True), 3 * (22 * 88 + 88), 3 * 13 * 22 * 88),
        (dict(embedding_norm=True), 2 * 22, 0),
        (dict(position="rotary", position_extra=None), -13 * 22, 0),
        (dict(position="learned and rotary"), 0, 0),
        (dict(position="relative", position_extra=None), 3 * 11 * (5 * 7 + 3) - 13 * 22, 0),
        (
            dict(read_out="attention pool"),
            counts.pooling_params(22),
            counts.query_macs(13, 22) + counts.mlp_macs(1, 22),
        ),
        (
            dict(class_blocks=5, position_extra=0),
            5 * counts.block_params(22) - 22,
            5 * (counts.query_macs(13, 22) + counts.mlp_macs(1, 22))
            - 3 * (counts.block_macs(13, 22) - counts.block_macs(12, 22)),
        ),
    ],
)
def test_each_part_changes_its_own_count(change, params, macs):
    base = plain_vit((15, 20), 5, 22, 3, 11, 7)
    changed = replace(base, **change)
    assert base.grid == (3, 4)
    assert counts.params(changed).total - counts.params(base).total == params
    assert counts.macs(changed).total - counts.macs(base).total == macs
    for count in (counts.params(changed), counts.macs(changed)):
        assert sum(vars(count).values()) == count.total


def test_positions_from_an_mlp_of_the_offset():
    stage = Stage(3, 22, 11, window=7)
    parts = dict(class_token=False, read_out="mean", position="continuous relative")
    model = Architecture("offsets", 14 * 5, 5, (stage,), **parts)
    assert counts.params(model).position == 3 * counts.offset_mlp_params(11)
    assert counts.macs(model).position == 3 * 13**2 * (1024 + 512 * 11)
