"""The transformer against a second one, written in loops from the equations."""

from dataclasses import fields, replace
from itertools import permutations
from math import erf, fsum, log, sqrt

import mpmath
import numpy as np
import pytest

from vitbias.architecture import Architecture, Stage, plain_vit
from vitbias.errors import ShapeError, ValuesError
from vitbias.patches import patchify
from vitbias.vit import (
    BlockWeights,
    VitWeights,
    forward,
    gelu,
    initial_weights,
    layer_norm,
    plain_stage,
)

TWO = {
    "distillation_token": True,
    "read_out": "class and distillation",
    "supervision": "hard distillation",
    "teacher": "a convolutional network",
}

MODELS = {
    "class learned": plain_vit(6, 2, 6, 3, 3, 5, channels=2, mlp_ratio=3),
    "class none": plain_vit(6, 3, 4, 2, 2, 7, position="none"),
    "mean learned": plain_vit(9, 3, 6, 1, 2, 3, channels=1, mlp_ratio=2, read_out="mean"),
    "mean none": plain_vit(4, 2, 6, 2, 1, 5, read_out="mean", position="none"),
    "one patch": plain_vit(5, 5, 3, 2, 3, 2, channels=1, read_out="mean"),
    "one patch and class": plain_vit(3, 3, 3, 1, 1, 1, channels=1, mlp_ratio=1),
    "distillation": plain_vit((4, 6), 2, 6, 2, 3, 5, mlp_ratio=2, **TWO),
    "distillation and registers": plain_vit(
        (6, 4), 2, 4, 1, 2, 3, registers=3, position_extra=1, **TWO
    ),
    "registers and layer scale": plain_vit(
        (3, 6), 3, 4, 2, 2, 3, mlp_ratio=2, registers=2, layer_scale=True
    ),
    "rows for the patches alone": plain_vit(
        4, 2, 4, 1, 1, 3, registers=2, position_extra=0, position="sine-cosine"
    ),
    "mean beside class and registers": plain_vit(
        4, 2, 4, 2, 2, 3, read_out="mean", class_token=True, registers=2, layer_scale=True
    ),
    "class of two tokens": plain_vit(4, 2, 4, 1, 2, 3, distillation_token=True),
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


def example(model, rng, *batch):
    pictures = rng.normal(size=(*batch, *model.image_px, model.channels))
    return pictures, initial_weights(model, rng)


def loop_linear(vectors, matrix, bias):
    return [
        [
            fsum([b, *(w * x for w, x in zip(row, v, strict=True))])
            for row, b in zip(matrix, bias, strict=True)
        ]
        for v in vectors
    ]


def loop_norm(vectors, gain, bias, epsilon=1e-6):
    normed = []
    for v in vectors:
        mean = fsum(v) / len(v)
        variance = fsum((x - mean) ** 2 for x in v) / len(v)
        root = sqrt(variance + epsilon)
        normed.append([(x - mean) / root * g + b for x, g, b in zip(v, gain, bias, strict=True)])
    return normed


def loop_add(one, other):
    return [[a + b for a, b in zip(u, v, strict=True)] for u, v in zip(one, other, strict=True)]


def loop_heads(vectors, part, heads):
    query, key, value = (
        loop_linear(vectors, getattr(part, name), getattr(part, f"{name}_bias"))
        for name in ("query", "key", "value")
    )
    width = len(vectors[0]) // heads
    joined, shares = [[] for _ in vectors], []
    for head in range(heads):
        span = range(head * width, (head + 1) * width)
        weights = []
        for i, q in enumerate(query):
            scores = [fsum(q[c] * k[c] for c in span) / sqrt(width) for k in key]
            powers = [np.exp(s - max(scores)) for s in scores]
            weights.append([p / fsum(powers) for p in powers])
            joined[i] += [
                fsum(a * v[c] for a, v in zip(weights[-1], value, strict=True)) for c in span
            ]
        shares.append(weights)
    return loop_linear(joined, part.output, part.output_bias), shares


def loop_scale(vectors, scale):
    return [[x * s for x, s in zip(v, scale, strict=True)] for v in vectors]


def loop_forward(picture, weights, model, epsilon=1e-6, norm_after_mean=False):
    """Equations 1 to 4 of the paper on nested lists; the trace under the same names."""
    trace = {"patches": []}
    side = model.patch_px
    rows, columns = (length // side for length in model.image_px)
    for n in range(rows * columns):
        trace["patches"].append(
            [
                float(picture[side * (n // columns) + i, side * (n % columns) + j, c])
                for i in range(side)
                for j in range(side)
                for c in range(model.channels)
            ]
        )
    z = trace["patch_tokens"] = loop_linear(trace["patches"], weights.patch, weights.patch_bias)
    extra = model.class_token + model.distillation_token + model.registers
    if extra:
        z = [*weights.extra_tokens.tolist(), *z]
    if model.position != "none":
        table = weights.position.tolist()
        held = len(table) - rows * columns
        z = [
            *loop_add(z[:held], table[:held]),
            *z[held:extra],
            *loop_add(z[extra:], table[held:]),
        ]
    trace["tokens"] = z
    for number, block in enumerate(weights.blocks, start=1):
        name = f"block {number}"
        normed = trace[f"{name} norm1"] = loop_norm(z, *block.norm1, epsilon)
        mixed, shares = loop_heads(normed, block.attention, model.stages[0].heads)
        if model.layer_scale:
            mixed = loop_scale(mixed, block.scale1)
        trace[f"{name} weights"], trace[f"{name} attention"] = shares, mixed
        z = trace[f"{name} middle"] = loop_add(z, mixed)
        normed = trace[f"{name} norm2"] = loop_norm(z, *block.norm2, epsilon)
        hidden = [
            [x * (1 + erf(x / sqrt(2))) / 2 for x in row]
            for row in loop_linear(normed, block.up, block.up_bias)
        ]
        lowered = loop_linear(hidden, block.down, block.down_bias)
        if model.layer_scale:
            lowered = loop_scale(lowered, block.scale2)
        trace[f"{name} mlp"] = lowered
        z = trace[name] = loop_add(z, lowered)
    if norm_after_mean:
        trace["mean"] = loop_mean(z[extra:])
        (trace["read_out"],) = loop_norm([trace["mean"]], *weights.norm, epsilon)
    else:
        z = trace["norm"] = loop_norm(z, *weights.norm, epsilon)
        trace["read_out"] = {
            "class": z[0],
            "class and distillation": z[:2],
            "mean": loop_mean(z[extra:]),
        }[model.read_out]
    if model.read_out == "class and distillation":
        one, other = trace["read_out"]
        (first,) = loop_linear([one], weights.head, weights.head_bias)
        second = weights.distillation_head, weights.distillation_head_bias
        (second,) = loop_linear([other], *second)
        return [(a + b) / 2 for a, b in zip(first, second, strict=True)], trace
    (logits,) = loop_linear([trace["read_out"]], weights.head, weights.head_bias)
    return logits, trace


def loop_mean(vectors):
    return [fsum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def assert_equal(found, expected):
    (logits, trace), (expected_logits, expected_trace) = found, expected
    assert list(trace) == list(expected_trace)
    for name, value in trace.items():
        assert value.shape == np.shape(expected_trace[name]), name
        assert np.allclose(value, expected_trace[name], rtol=1e-12, atol=1e-12), name
    assert np.allclose(logits, expected_logits, rtol=1e-12, atol=1e-12)


def test_every_intermediate_against_the_loop(model, rng):
    picture, weights = example(model, rng)
    assert_equal(forward(picture, weights, model), loop_forward(picture, weights, model))


@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name].read_out == "mean"])
def test_norm_after_the_mean_against_the_loop(name, rng):
    model = MODELS[name]
    picture, weights = example(model, rng)
    settings = {"epsilon": 0.125, "norm_after_mean": True}
    found = forward(picture, weights, model, **settings)
    assert_equal(found, loop_forward(picture, weights, model, **settings))
    before, _ = forward(picture, weights, model, epsilon=0.125)
    if model.patches > 1:
        assert abs(found[0] - before).max() > 1e-3
    else:
        assert np.allclose(found[0], before, rtol=1e-12)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-3, 1])
def test_another_epsilon_reaches_every_norm(rng, epsilon):
    model = MODELS["distillation"]
    picture, weights = example(model, rng)
    found = forward(picture, weights, model, epsilon=epsilon)
    assert_equal(found, loop_forward(picture, weights, model, epsilon))
    if epsilon > 1e-6:
        _, usual = forward(picture, weights, model)
        for name in ("block 1 norm1", "block 1 norm2", "norm"):
            assert abs(usual[name] - found[1][name]).max() > 1e-4


@pytest.mark.parametrize("epsilon", [0, -1e-6, np.nan, np.inf, None, "1", True])
def test_epsilons_that_are_none(rng, epsilon):
    model = MODELS["distillation"]
    picture, weights = example(model, rng)
    with pytest.raises(ValuesError, match=r"^epsilon: expected a (finite )?number"):
        forward(picture, weights, model, epsilon=epsilon)


@pytest.mark.parametrize(
    ("name", "flag", "message"),
    [
        ("distillation", True, "False with the read-out 'class and distillation', got True"),
        ("class learned", True, "False with the read-out 'class', got True"),
        ("mean learned", 1, "an instance of bool, got 1"),
        ("mean learned", None, "an instance of bool, got None"),
    ],
)
def test_a_norm_after_a_mean_that_is_not_there(rng, name, flag, message):
    model = MODELS[name]
    picture, weights = example(model, rng)
    with pytest.raises(ValuesError) as caught:
        forward(picture, weights, model, norm_after_mean=flag)
    assert str(caught.value).startswith(f"norm_after_mean: expected {message}")


SWIN = (Stage(2, 4, 2, window=2), Stage(2, 8, 2, window=2))


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (
            Architecture("x", 16, 2, SWIN, class_token=False, read_out="mean"),
            "several stages, windows",
        ),
        (
            plain_vit(4, 2, 4, 1, 2, 3, read_out="mean", position="relative"),
            "relative positions",
        ),
        (plain_vit(4, 2, 4, 1, 2, 3, patch_norm=True), "a norm of the patches"),
        (plain_vit(4, 2, 4, 1, 2, 3, final_norm=False), "no final norm"),
        (plain_vit(4, 2, 4, 1, 2, 3, representation=7), "a hidden layer in the read-out"),
        (plain_vit(4, 2, 4, 1, 2, None, read_out="none"), "no read-out"),
        (plain_vit(5, 2, 4, 1, 2, 3, border="drop"), "a border rule"),
        (plain_vit(4, 2, 4, 1, 2, 3, qkv_bias=False), "no bias of queries, keys and values"),
        (plain_vit(4, 2, 4, 1, 2, 3, patch_bias=False), "no bias of the patches"),
    ],
)
def test_parts_that_a_plain_transformer_does_not_have(rng, model, part):
    message = rf"^model: expected a plain ViT, got '.*' with {part}$"
    _, weights = example(MODELS["class learned"], rng)
    for call in (
        lambda: plain_stage(model),
        lambda: initial_weights(model, rng),
        lambda: forward(np.zeros((4, 4, 3)), weights, model),
    ):
        with pytest.raises(ValuesError, match=message):
            call()


def test_the_one_stage_of_a_plain_transformer(model):
    assert plain_stage(model) is model.stages[0]


def test_shapes_of_a_batch_and_its_pictures_one_by_one(model, rng):
    pictures, weights = example(model, rng, 2, 3)
    logits, trace = forward(pictures, weights, model)
    n, t, d, h = (
        (model.image_px[0] // model.patch_px) * (model.image_px[1] // model.patch_px),
        model.tokens,
        model.width,
        model.stages[0].heads,
    )
    assert t == n + model.class_token + model.distillation_token + model.registers
    shapes = {
        "patches": (n, model.patch_px**2 * model.channels),
        "patch_tokens": (n, d),
        "tokens": (t, d),
        **{
            f"block {number}{part}": (h, t, t) if part == " weights" else (t, d)
            for number in range(1, model.depth + 1)
            for part in (" norm1", " weights", " attention", " middle", " norm2", " mlp", "")
        },
        "norm": (t, d),
        "read_out": (2, d) if model.read_out == "class and distillation" else (d,),
    }
    assert list(trace) == list(shapes)
    assert {name: value.shape[2:] for name, value in trace.items()} == shapes
    assert logits.shape == (2, 3, model.classes)
    assert all(value.dtype == np.float64 for value in (*trace.values(), logits))
    for i in range(2):
        for j in range(3):
            alone, single = forward(pictures[i, j], weights, model)
            assert np.allclose(alone, logits[i, j], rtol=1e-12, atol=1e-12)
            for name, value in single.items():
                assert np.allclose(value, trace[name][i, j], rtol=1e-12, atol=1e-12)


def test_attention_weights_are_shares(model, rng):
    picture, weights = example(model, rng)
    _, trace = forward(picture, weights, model)
    for name, value in trace.items():
        if name.endswith("weights"):
            assert (value >= 0).all()
            assert abs(value.sum(axis=-1) - 1).max() <= model.tokens * 2.0**-52


def shuffle_patches(picture, patch, perm):
    """Move whole patches, by slices."""
    grid = len(picture) // patch
    moved = np.empty_like(picture)
    for target, source in enumerate(perm):
        (a, b), (c, d) = divmod(target, grid), divmod(source, grid)
        moved[a * patch : (a + 1) * patch, b * patch : (b + 1) * patch] = picture[
            c * patch : (c + 1) * patch, d * patch : (d + 1) * patch
        ]
    return moved


@pytest.mark.parametrize("read_out", ["class", "mean"])
def test_without_positions_shuffled_patches_only_shuffle_the_tokens(rng, read_out):
    model = plain_vit(4, 2, 6, 2, 3, 5, read_out=read_out, position="none")
    picture, weights = example(model, rng)
    logits, trace = forward(picture, weights, model)
    first = int(read_out == "class")
    for perm in permutations(range(4)):
        moved = shuffle_patches(picture, 2, perm)
        assert np.array_equal(patchify(moved, 2), patchify(picture, 2)[list(perm)])
        again, moved_trace = forward(moved, weights, model)
        assert np.allclose(again, logits, rtol=1e-12, atol=1e-12)
        rows = [*range(first), *(first + p for p in perm)]
        for name in ("tokens", "block 1", "block 2", "norm"):
            assert np.allclose(moved_trace[name], trace[name][rows], rtol=1e-12, atol=1e-12)
        shares = trace["block 2 weights"][:, rows][:, :, rows]
        assert np.allclose(moved_trace["block 2 weights"], shares, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("read_out", ["class", "mean"])
def test_with_positions_every_shuffle_changes_the_output(rng, read_out):
    model = plain_vit(4, 2, 6, 2, 3, 5, read_out=read_out)
    picture, weights = example(model, rng)
    logits, _ = forward(picture, weights, model)
    for perm in list(permutations(range(4)))[1:]:
        again, _ = forward(shuffle_patches(picture, 2, perm), weights, model)
        assert abs(again - logits).max() > 1e-3


def parts(weights, path=()):
    """All arrays of nested weights with the way to them."""
    if isinstance(weights, np.ndarray):
        yield path, weights
    elif isinstance(weights, tuple):
        for index, inner in enumerate(weights):
            yield from parts(inner, (*path, index))
    elif weights is not None:
        for field in fields(weights):
            yield from parts(getattr(weights, field.name), (*path, field.name))


def changed(weights, path, value):
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        return tuple(
            changed(inner, rest, value) if index == step else inner
            for index, inner in enumerate(weights)
        )
    return replace(weights, **{step: changed(getattr(weights, step), rest, value)})


def test_initial_weights_have_the_sizes_of_the_docstrings(model, rng):
    weights = initial_weights(model, rng)
    d, hidden = model.width, model.stages[0].hidden
    assert weights.patch.shape == (d, model.patch_px**2 * model.channels)
    extra = model.class_token + model.distillation_token + model.registers
    assert (weights.extra_tokens is not None) == (extra > 0)
    assert (weights.position is not None) == (model.position != "none")
    if weights.extra_tokens is not None:
        assert weights.extra_tokens.shape == (extra, d)
    if weights.position is not None:
        assert weights.position.shape == (model.patches + model.position_extra, d)
    second = (weights.distillation_head, weights.distillation_head_bias)
    if model.read_out == "class and distillation":
        assert [part.shape for part in second] == [(model.classes, d), (model.classes,)]
    else:
        assert second == (None, None)
    assert len(weights.blocks) == model.depth
    for block in weights.blocks:
        assert isinstance(block, BlockWeights)
        assert (block.up.shape, block.up_bias.shape) == ((hidden, d), (hidden,))
        assert (block.down.shape, block.down_bias.shape) == ((d, hidden), (d,))
        assert [part.shape for _, part in parts(block.attention)] == [(d, d), (d,)] * 4
        assert [part.shape for pair in (block.norm1, block.norm2) for part in pair] == [(d,)] * 4
        scales = (block.scale1, block.scale2)
        shapes = [(d,)] * 2 if model.layer_scale else []
        assert [part.shape for part in scales if part is not None] == shapes
    assert [part.shape for part in weights.norm] == [(d,)] * 2
    assert (weights.head.shape, weights.head_bias.shape) == ((model.classes, d), (model.classes,))
    assert all(part.dtype == np.float64 for _, part in parts(weights))


@pytest.mark.parametrize("name", ["class learned", "distillation", "registers and layer scale"])
def test_initial_weights_follow_the_generator_and_the_scale(name):
    model = MODELS[name]
    first, second = (initial_weights(model, np.random.default_rng(7)) for _ in range(2))
    other = initial_weights(model, np.random.default_rng(8))
    for (path, a), (_, b), (_, c) in zip(parts(first), parts(second), parts(other), strict=True):
        assert np.array_equal(a, b), path
        assert not np.array_equal(a, c), path
    small = initial_weights(model, np.random.default_rng(7), scale=2.0**-7)
    for (path, a), (_, b) in zip(parts(first), parts(small), strict=True):
        gain = (path[-1] == 0 and "norm" in str(path[-2])) or str(path[-1]).startswith("scale")
        expected = a if path == ("position",) else (a - gain) / 128 + gain
        assert np.allclose(b, expected, rtol=1e-14), path
    flat = initial_weights(model, np.random.default_rng(7), scale=0)
    assert not flat.head.any()
    assert (flat.norm[0] == 1).all()


def test_spread_of_the_initial_weights():
    """Standard deviations over 10,000 and more entries, 5 standard errors around the docstring's."""
    model = plain_vit(40, 10, 100, 1, 10, 101, channels=2, mlp_ratio=3)
    weights = initial_weights(model, np.random.default_rng(11), scale=3.0)
    block = weights.blocks[0]
    for matrix, fan_in in (
        (weights.patch, 200),
        (block.attention.query, 100),
        (block.attention.output, 100),
        (block.up, 100),
        (block.down, 300),
        (weights.head, 100),
    ):
        error = 5 / sqrt(2 * matrix.size)
        assert abs(matrix.std() * sqrt(fan_in) / 3 - 1) < error
        assert abs(matrix.mean() * sqrt(fan_in) / 3) < 5 / sqrt(matrix.size)
    assert abs(weights.position.std() * sqrt(100) - 1) < 5 / sqrt(2 * weights.position.size)
    assert abs(weights.position.mean()) * sqrt(100) < 5 / sqrt(weights.position.size)
    assert abs(block.up_bias.mean()) * sqrt(100) / 3 < 5 / sqrt(300)
    assert abs(block.up_bias.std() * sqrt(100) / 3 - 1) < 5 / sqrt(2 * 300)
    assert abs((weights.norm[0] - 1).std() * sqrt(100) / 3 - 1) < 0.5


def test_every_weight_matters(model, rng):
    """But for the key biases, and for queries and keys where there is one token to look at."""
    picture, weights = example(model, rng)
    logits, _ = forward(picture, weights, model)
    for path, part in parts(weights):
        again, _ = forward(
            picture, changed(weights, path, part + 0.1 * rng.normal(size=part.shape)), model
        )
        idle = path[-1] == "key_bias" or (
            model.tokens == 1 and str(path[-1]).startswith(("query", "key"))
        )
        assert (abs(again - logits).max() < 1e-12) == idle, path


def test_every_weight_is_checked(model, rng):
    picture, weights = example(model, rng)
    for path, part in parts(weights):
        spoiled = part.copy()
        spoiled.flat[-1] = np.nan
        for bad, kind in (
            (part[..., :-1], ShapeError),
            (1.0, ShapeError),
            (spoiled, ValuesError),
            (part.astype(str), ValuesError),
        ):
            with pytest.raises(kind, match=r"^[a-z_0-9 ]+: expected "):
                forward(picture, changed(weights, path, bad), model)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"extra_tokens": None}, "extra_tokens: expected an array with extra tokens, else None"),
        ({"position": None}, "position: expected an array with a table of positions, else None"),
        ({"blocks": ()}, "blocks: expected 3, the depth, got 0 blocks"),
        (
            {"distillation_head": np.zeros((5, 6))},
            "distillation_head: expected an array with two classifiers, else None",
        ),
        (
            {"distillation_head_bias": np.zeros(5)},
            "distillation_head_bias: expected an array with two classifiers, else None",
        ),
        ({"scale1": np.ones(6)}, "scale1: expected an array with layer scale, else None"),
        ({"scale2": np.ones(6)}, "scale2: expected an array with layer scale, else None"),
    ],
)
def test_parts_that_are_missing(rng, changes, message):
    model = MODELS["class learned"]
    picture, weights = example(model, rng)
    if not hasattr(weights, next(iter(changes))):
        changes = {"blocks": (*weights.blocks[:-1], replace(weights.blocks[-1], **changes))}
    with pytest.raises(ShapeError) as caught:
        forward(picture, replace(weights, **changes), model)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("distillation", ("distillation_head",)),
        ("distillation", ("distillation_head_bias",)),
        ("distillation", ("extra_tokens",)),
        ("registers and layer scale", ("blocks", 1, "scale1")),
        ("registers and layer scale", ("blocks", 0, "scale2")),
    ],
)
def test_parts_that_the_model_has_and_the_weights_lack(rng, name, path):
    model = MODELS[name]
    picture, weights = example(model, rng)
    with pytest.raises(ShapeError, match=rf"^{path[-1]}: expected an array with .*, else None"):
        forward(picture, changed(weights, path, None), model)


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"blocks": None}, ShapeError, "blocks: expected a sequence, got None"),
        ({"blocks": (None,) * 3}, ValuesError, "blocks: expected an instance of BlockWeights"),
        ({"norm": None}, ShapeError, "norm: expected a sequence, got None"),
        ({"norm": (np.ones(6),)}, ShapeError, "norm: expected a pair (gain, bias), got 1 parts"),
        ({"norm1": (np.ones(6),) * 3}, ShapeError, "norm1: expected a pair (gain, bias), got 3"),
        ({"norm2": ()}, ShapeError, "norm2: expected a pair (gain, bias), got 0 parts"),
        ({"attention": None}, ValuesError, "weights: expected an instance of HeadWeights"),
    ],
)
def test_parts_of_another_kind(rng, changes, kind, message):
    model = MODELS["class learned"]
    picture, weights = example(model, rng)
    if not hasattr(weights, next(iter(changes))):
        changes = {"blocks": tuple(replace(block, **changes) for block in weights.blocks)}
    with pytest.raises(kind) as caught:
        forward(picture, replace(weights, **changes), model)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("other", [None, "model", Architecture, {"image": 6}])
def test_models_and_weights_of_another_class(rng, other):
    model = MODELS["class learned"]
    picture, weights = example(model, rng)
    with pytest.raises(ValuesError, match=r"^model: expected an instance of Architecture, got "):
        forward(picture, weights, other)
    with pytest.raises(ValuesError, match=r"^weights: expected an instance of VitWeights, got "):
        forward(picture, other, model)
    with pytest.raises(ValuesError, match=r"^model: expected an instance of Architecture, got "):
        initial_weights(other, rng)


def test_parts_that_are_too_many(rng):
    model = MODELS["mean none"]
    picture, weights = example(model, rng)
    for changes in ({"extra_tokens": np.zeros((1, 6))}, {"position": np.zeros((4, 6))}):
        with pytest.raises(ShapeError, match=", else None, got float64 array of shape"):
            forward(picture, replace(weights, **changes), model)


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((6, 6, 3), ShapeError),
        ((6, 4, 2), ShapeError),
        ((6, 6), ShapeError),
        ((0, 6, 6, 2), ShapeError),
    ],
)
def test_pictures_of_another_size(rng, shape, kind):
    model = MODELS["class learned"]
    with pytest.raises(kind) as caught:
        forward(np.zeros(shape), initial_weights(model, rng), model)
    message = f"pictures: expected axes (..., 6, 6, 2), got shape {shape}"
    assert str(caught.value) == message


def test_types_and_layouts_of_pictures_and_weights(rng):
    model = MODELS["class learned"]
    _, weights = example(model, rng)
    pixels = rng.integers(0, 256, (6, 6, 2), dtype=np.uint8)
    expected, _ = forward(pixels.astype(float), weights, model)
    assert np.array_equal(forward(pixels, weights, model)[0], expected)
    assert np.allclose(forward(np.asfortranarray(pixels), weights, model)[0], expected, rtol=1e-12)
    whole = changed(weights, ("patch",), rng.integers(-9, 9, weights.patch.shape, dtype=np.int8))
    floats = changed(weights, ("patch",), whole.patch.astype(float))
    assert np.array_equal(forward(pixels, whole, model)[0], forward(pixels, floats, model)[0])
    single = weights
    for path, part in parts(weights):
        single = changed(single, path, part.astype(np.float32))
    logits, trace = forward(pixels.astype(np.float32) / 255, single, model)
    plain, _ = forward(pixels / 255, weights, model)
    assert trace["tokens"].dtype == np.float32
    assert np.allclose(logits, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scale", [1e160, 1e305])
def test_pictures_beyond_the_range_are_refused(rng, scale):
    model = MODELS["class learned"]
    _, weights = example(model, rng)
    with pytest.raises(ValuesError, match=r"^tokens( after patch)?: expected "):
        forward(np.full((6, 6, 2), scale) * [[[1], [-1]] * 3] * 100, weights, model)


@pytest.mark.parametrize("scale", [-1e-9, float("nan"), float("inf"), "1", None, True])
def test_scales_that_are_none(rng, scale):
    with pytest.raises(ValuesError, match=r"^scale: expected a "):
        initial_weights(MODELS["mean none"], rng, scale=scale)


@pytest.mark.parametrize("rng", [0, None, np.random, np.random.RandomState(0)])
def test_a_seed_is_no_generator(rng):
    with pytest.raises(ValuesError, match=r"^rng: expected a numpy.random.Generator, got "):
        initial_weights(MODELS["mean none"], rng)


def test_layer_norm_against_the_loop_and_its_laws(rng):
    tokens, gain, bias = rng.normal(size=(2, 3, 7)), rng.normal(size=7), rng.normal(size=7)
    normed = layer_norm(tokens, gain, bias)
    for one, alone in zip(normed, tokens, strict=True):
        assert np.allclose(one, loop_norm(alone.tolist(), gain, bias), rtol=1e-13, atol=1e-13)
    plain = layer_norm(tokens, np.ones(7), np.zeros(7))
    assert abs(plain.mean(axis=-1)).max() < 1e-15
    variance = tokens.var(axis=-1)
    assert np.allclose(plain.var(axis=-1), variance / (variance + 1e-6), rtol=1e-13)
    assert np.allclose(layer_norm(tokens + 13, np.ones(7), np.zeros(7)), plain, atol=1e-12)
    order = [3, 1, 4, 0, 5, 2, 6]
    again = layer_norm(tokens[..., order], gain[order], bias[order])
    assert np.allclose(again, normed[..., order], rtol=1e-13, atol=1e-13)


def test_layer_norm_where_the_variance_is_nothing_or_everything():
    bias = np.array([2.0, 3, 5])
    assert layer_norm(np.full((2, 3), 7.0), np.ones(3), bias).tolist() == [[2, 3, 5]] * 2
    assert layer_norm([4], [1], [0.5]).tolist() == [0.5]
    assert np.allclose(layer_norm([1e-200, -1e-200], [1, 1], [0, 0]), [1e-197, -1e-197])
    assert layer_norm([1e100, -1e100], [1, 1], [0, 0]).tolist() == [1, -1]
    huge = [1.7e308] * 4
    for tokens in ([1e200, -1e200], huge[:2], [1.7e308, -1.7e308], huge + [-x for x in huge]):
        with pytest.raises(ValuesError, match=r"^tokens: expected a finite variance, got float64"):
            layer_norm(tokens, np.ones(len(tokens)), np.zeros(len(tokens)))
    with pytest.raises(ValuesError, match=r"^tokens: expected a finite variance, got float16"):
        layer_norm(np.array([60000, -60000], np.float16), [1, 1], [0, 0])
    whole = np.array([100, -128], np.int8)
    assert np.array_equal(
        layer_norm(whole, [1, 1], [0, 0]), layer_norm(whole * 1.0, [1, 1], [0, 0])
    )


@pytest.mark.parametrize(
    ("tokens", "gain", "bias", "kind", "field"),
    [
        ([1.0, 2, 3], [1, 1], [0, 0, 0], ShapeError, "gain"),
        ([1.0, 2, 3], [1], [0, 0, 0], ShapeError, "gain"),
        ([1.0, 2, 3], [1, 1, 1], np.zeros((2, 3)), ShapeError, "bias"),
        ([1.0, 2, 3], [1, 1, 1], 0, ShapeError, "bias"),
        ([1.0, np.nan, 3], [1, 1, 1], [0, 0, 0], ValuesError, "tokens"),
        ([1.0, 2, 3], [1, np.inf, 1], [0, 0, 0], ValuesError, "gain"),
        (1.0, [1], [0], ShapeError, "tokens"),
        ("x", [1], [0], ValuesError, "tokens"),
    ],
)
def test_layer_norm_refuses(tokens, gain, bias, kind, field):
    with pytest.raises(kind, match=rf"^{field}: expected "):
        layer_norm(tokens, gain, bias)


def test_gelu_against_50_digits_and_the_loop():
    values = [-30.0, -6, -2.5, -1, -1e-9, 0, 5e-324, 0.5, 1, log(2), 3, 8, 100, 1e308]
    with mpmath.workdps(50):
        exact = [float(x * mpmath.ncdf(x)) for x in map(mpmath.mpf, values)]
    assert np.allclose(gelu(values), exact, rtol=1e-15, atol=1e-15)
    assert gelu(values).tolist() == [x * 0.5 * (1 + erf(x / sqrt(2))) for x in values]
    x = np.linspace(-5, 5, 101)
    assert np.allclose(gelu(x) - gelu(-x), x, rtol=1e-15, atol=1e-15)
    slope = (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5
    density = np.exp(-(x**2) / 2) / sqrt(2 * np.pi)
    half = np.array([0.5 * (1 + erf(v / sqrt(2))) for v in x])
    assert np.allclose(slope, half + x * density, atol=1e-9)


def test_gelu_keeps_the_shape_and_gives_float64():
    for shape in ((), (3,), (2, 3, 5)):
        for kind in (np.float32, np.int8, np.float64):
            result = gelu(np.ones(shape, kind))
            assert result.shape == shape
            assert result.dtype == np.float64
            assert np.allclose(result, 0.8413447460685429, rtol=1e-15)


@pytest.mark.parametrize("value", ["x", None, 1j, True, [np.nan], [np.inf], [[1], [1, 2]], []])
def test_gelu_refuses(value):
    with pytest.raises((ValuesError, ShapeError), match=r"^values: expected "):
        gelu(value)


def test_the_weights_are_frozen():
    weights = initial_weights(MODELS["mean none"], np.random.default_rng(0))
    assert isinstance(weights, VitWeights)
    for frozen in (weights, weights.blocks[0], MODELS["mean none"]):
        for field in fields(frozen):
            with pytest.raises(AttributeError):
                setattr(frozen, field.name, None)
