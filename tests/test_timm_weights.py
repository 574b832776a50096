"""Weights under released names: what is read is what was written; every other entry is refused by name."""

from dataclasses import fields

import numpy as np
import pytest

from vitbias.architecture import plain_vit
from vitbias.errors import ShapeError, UnknownNameError, ValuesError
from vitbias.readers.timm_weights import hf_weights, timm_weights
from vitbias.vit import initial_weights

TWO = {
    "distillation_token": True,
    "read_out": "class and distillation",
    "supervision": "hard distillation",
    "teacher": "not stated",
}
SIZES = ((15, 10), 5, 6, 2, 3, 7)
MODELS = {
    "class": plain_vit(*SIZES, mlp_ratio=2),
    "mean": plain_vit(*SIZES, mlp_ratio=2, read_out="mean", position="none", channels=2),
    "registers": plain_vit(*SIZES, mlp_ratio=2, registers=2, position_extra=0, layer_scale=True),
    "distilled": plain_vit(*SIZES, mlp_ratio=2, **TWO),
}
PLAIN = ("class", "distilled")


def convolution(matrix, model):
    """(d, D) with the channels fastest, as a kernel with the channels slowest, entry by entry."""
    side, channels = model.patch_px, model.channels
    kernel = np.empty((len(matrix), channels, side, side))
    for i in range(side):
        for j in range(side):
            for c in range(channels):
                kernel[:, c, i, j] = matrix[:, (i * side + j) * channels + c]
    return kernel


def pair(name, weight, bias):
    return {f"{name}.weight": weight, f"{name}.bias": bias}


def tokens(weights, names):
    rows = weights.extra_tokens
    return {
        name: rows[None, start:stop]
        for name, start, stop in names
        if rows is not None and stop > start
    }


def timm_state(weights, model, norm="norm"):
    after = 1 + model.distillation_token
    state = pair("patch_embed.proj", convolution(weights.patch, model), weights.patch_bias)
    state |= tokens(
        weights,
        [
            ("cls_token", 0, 1),
            ("dist_token", 1, after),
            ("reg_token", after, after + model.registers),
        ],
    )
    if weights.position is not None:
        state["pos_embed"] = weights.position[None]
    for number, block in enumerate(weights.blocks):
        name, maps = f"blocks.{number}", block.attention
        state |= pair(f"{name}.norm1", *block.norm1) | pair(f"{name}.norm2", *block.norm2)
        state |= pair(
            f"{name}.attn.qkv",
            np.vstack([maps.query, maps.key, maps.value]),
            np.hstack([maps.query_bias, maps.key_bias, maps.value_bias]),
        )
        state |= pair(f"{name}.attn.proj", maps.output, maps.output_bias)
        state |= pair(f"{name}.mlp.fc1", block.up, block.up_bias)
        state |= pair(f"{name}.mlp.fc2", block.down, block.down_bias)
        if model.layer_scale:
            state |= {f"{name}.ls1.gamma": block.scale1, f"{name}.ls2.gamma": block.scale2}
    state |= pair(norm, *weights.norm) | pair("head", weights.head, weights.head_bias)
    if weights.distillation_head is not None:
        state |= pair("head_dist", weights.distillation_head, weights.distillation_head_bias)
    return state


def hf_state(weights, model, module):
    start = f"{module}.embeddings"
    state = pair(
        f"{start}.patch_embeddings.projection",
        convolution(weights.patch, model),
        weights.patch_bias,
    )
    stop = 1 + model.distillation_token
    state |= tokens(
        weights, [(f"{start}.cls_token", 0, 1), (f"{start}.distillation_token", 1, stop)]
    )
    state[f"{start}.position_embeddings"] = weights.position[None]
    for number, block in enumerate(weights.blocks):
        name, maps = f"{module}.layers.{number}", block.attention
        for letter, part in zip("qkvo", ("query", "key", "value", "output"), strict=True):
            matrix, bias = getattr(maps, part), getattr(maps, f"{part}_bias")
            state |= pair(f"{name}.attention.{letter}_proj", matrix, bias)
        state |= pair(f"{name}.layernorm_before", *block.norm1)
        state |= pair(f"{name}.layernorm_after", *block.norm2)
        state |= pair(f"{name}.mlp.fc1", block.up, block.up_bias)
        state |= pair(f"{name}.mlp.fc2", block.down, block.down_bias)
    state |= pair(f"{module}.layernorm", *weights.norm)
    if module == "vit":
        return state | pair("classifier", weights.head, weights.head_bias)
    second = weights.distillation_head, weights.distillation_head_bias
    state |= pair("cls_classifier", weights.head, weights.head_bias)
    return state | pair("distillation_classifier", *second)


def flat(weights, path=""):
    """Every array of nested weights, by the way to it."""
    if isinstance(weights, np.ndarray) or weights is None:
        return {path: weights}
    if isinstance(weights, tuple):
        inner = {f"{path}.{index}": part for index, part in enumerate(weights)}
    else:
        inner = {f"{path}.{field.name}": getattr(weights, field.name) for field in fields(weights)}
    return {key: array for name, part in inner.items() for key, array in flat(part, name).items()}


def assert_same(found, expected):
    found, expected = flat(found), flat(expected)
    assert list(found) == list(expected)
    for key, array in expected.items():
        assert np.array_equal(found[key], array) if array is not None else found[key] is None, key


@pytest.mark.parametrize("name", MODELS)
def test_timm_names_give_back_what_was_written(name, rng):
    model = MODELS[name]
    weights = initial_weights(model, rng)
    state = timm_state(weights, model)
    assert_same(timm_weights(state, model), weights)
    # the order of the entries says nothing
    assert_same(timm_weights(dict(reversed(state.items())), model), weights)


@pytest.mark.parametrize(("name", "module"), [("class", "vit"), ("distilled", "deit")])
def test_transformers_names_give_back_what_was_written(name, module, rng):
    model = MODELS[name]
    weights = initial_weights(model, rng)
    state = hf_state(weights, model, module)
    assert_same(hf_weights(state, model, module=module), weights)
    # neither release's names fit the other's reader
    with pytest.raises(ValuesError, match=r"^patch_embed\.proj\.weight: expected an entry"):
        timm_weights(state, model)


def test_a_norm_after_the_mean_has_another_name(rng):
    model = MODELS["mean"]
    weights = initial_weights(model, rng)
    before, after = (timm_state(weights, model, norm) for norm in ("norm", "fc_norm"))
    assert_same(timm_weights(after, model, norm_after_mean=True), weights)
    with pytest.raises(
        ValuesError, match=r"^norm\.weight: expected an entry of the state, got none"
    ):
        timm_weights(after, model)
    with pytest.raises(ValuesError, match=r"^fc_norm\.weight: expected an entry of the state"):
        timm_weights(before, model, norm_after_mean=True)
    with pytest.raises(ValuesError, match=r"^norm_after_mean: expected an instance of bool"):
        timm_weights(after, model, norm_after_mean=1)


def readers(rng):
    for name, model in MODELS.items():
        weights = initial_weights(model, rng)
        yield timm_weights, timm_state(weights, model), model
        if name in PLAIN:
            module = "deit" if name == "distilled" else "vit"

            def read(state, model, module=module):
                return hf_weights(state, model, module=module)

            yield read, hf_state(weights, model, module), model


def test_every_entry_is_needed_and_has_one_shape(rng):
    for read, state, model in readers(rng):
        for key, array in state.items():
            pattern = rf"^{key.replace('.', '[.]')}: expected "
            with pytest.raises(ValuesError, match=f"{pattern}an entry of the state, got none"):
                read({name: value for name, value in state.items() if name != key}, model)
            for bad in (array[..., :-1], array[None], array[..., None], 0.0):
                with pytest.raises(ShapeError, match=f"{pattern}axes"):
                    read(state | {key: bad}, model)
            spoiled = array.copy()
            spoiled.flat[0] = np.nan
            for bad in (spoiled, array.astype(str), None):
                with pytest.raises(ValuesError, match=pattern):
                    read(state | {key: bad}, model)


def test_nothing_may_be_left(rng):
    for read, state, model in readers(rng):
        with pytest.raises(ValuesError) as caught:
            read(state | {"head_extra.weight": np.zeros(3)}, model)
        message = "state: expected no entry but the model's, got 'head_extra.weight'"
        assert str(caught.value) == message
        with pytest.raises(ValuesError, match=r"got 'a' and 2 more$"):
            read(state | dict.fromkeys("abc", np.zeros(3)), model)
        with pytest.raises(ValuesError, match=r"got 7$"):
            read(state | {7: np.zeros(3)}, model)


@pytest.mark.parametrize(
    ("smaller", "larger", "left"),
    [
        ("class", "registers", "'reg_token' and 4 more"),
        ("class", "distilled", "'dist_token' and 2 more"),
    ],
)
def test_a_description_that_has_fewer_parts_is_noticed(rng, smaller, larger, left):
    """Positions are given the smaller model's length: only the names can tell."""
    model = MODELS[larger]
    state = timm_state(initial_weights(model, rng), model)
    small = MODELS[smaller]
    state["pos_embed"] = np.zeros((1, small.tokens, small.width))
    with pytest.raises(ValuesError) as caught:
        timm_weights(state, small)
    assert str(caught.value) == f"state: expected no entry but the model's, got {left}"


@pytest.mark.parametrize("parts", [{"registers": 2}, {"layer_scale": True}])
def test_parts_that_transformers_does_not_have_here(rng, parts):
    model = MODELS["class"]
    state = hf_state(initial_weights(model, rng), model, "vit")
    more = plain_vit(*SIZES, mlp_ratio=2, position_extra=1, **parts)
    with pytest.raises(
        ValuesError, match=r"^model: expected only parts that the release has, got "
    ):
        hf_weights(state, more, module="vit")


def test_what_is_no_state_no_model_no_module(rng):
    model = MODELS["class"]
    state = timm_state(initial_weights(model, rng), model)
    for other in (None, [], list(state.items()), "state"):
        with pytest.raises(ValuesError, match=r"^state: expected an instance of Mapping, got "):
            timm_weights(other, model)
    with pytest.raises(ValuesError, match=r"^cls_token: |^patch_embed"):
        timm_weights({}, model)
    with pytest.raises(ValuesError, match=r"^model: expected an instance of Architecture, got "):
        timm_weights(state, None)
    no_read_out = plain_vit(*SIZES[:-1], None, read_out="none")
    with pytest.raises(ValuesError, match=r"^model: expected a plain ViT, got .* no read-out"):
        timm_weights(state, no_read_out)
    with pytest.raises(
        UnknownNameError, match=r"^module: expected one of 'deit', 'vit', got 'vti'"
    ):
        hf_weights(state, model, module="vti")


def test_single_precision_stays_and_integers_become_floats(rng):
    model = MODELS["class"]
    state = timm_state(initial_weights(model, rng), model)
    single = timm_weights({key: array.astype(np.float32) for key, array in state.items()}, model)
    assert all(array is None or array.dtype == np.float32 for array in flat(single).values())
    whole = timm_weights({key: array.astype(np.int8) for key, array in state.items()}, model)
    assert all(array is None or array.dtype == np.float64 for array in flat(whole).values())
