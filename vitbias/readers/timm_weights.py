"""Weights under the names of released code, as the ``VitWeights`` of a given ``Architecture``.

A state is a mapping from a module's names to arrays, as PyTorch's ``state_dict()`` and safetensors files
have it; torch itself is not needed. Every entry has to be used and has to fit: what is missing, left over,
or of another shape is named, and nothing is guessed from a shape.

Convention: a released convolution weight is (d, C, P, P), channels slowest; here a patch has its channels
fastest, so that the rows become (d, P·P·C). timm keeps the maps of queries, keys and values in one matrix,
(3d, d), in this order.

Sources: timm 1.0, modules ``VisionTransformer`` and ``VisionTransformerDistilled``; transformers 5, modules
``ViTForImageClassification`` and ``DeiTForImageClassificationWithTeacher``. transformers' DINOv2 classifies
from the class token and the mean side by side, which no ``Architecture`` describes: it is not read.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vitbias.architecture import Architecture
from vitbias.arrays import Array, require_floats
from vitbias.attention import HeadWeights
from vitbias.errors import Literal, ValuesError, describe, require_choice, require_instance
from vitbias.vit import TABLES, TWO, BlockWeights, VitWeights, plain_stage

__all__ = ["hf_weights", "timm_weights"]

# our name of a part: its name in the release; in blocks behind the block's own
TIMM = {
    "class_token": "cls_token",
    "distillation_token": "dist_token",
    "registers": "reg_token",
    "position": "pos_embed",
    "patch": "patch_embed.proj",
    "block": "blocks.",
    "norm1": "norm1",
    "query, key, value": "attn.qkv",
    "output": "attn.proj",
    "scale1": "ls1.gamma",
    "norm2": "norm2",
    "up": "mlp.fc1",
    "down": "mlp.fc2",
    "scale2": "ls2.gamma",
    "norm": "norm",
    "norm after mean": "fc_norm",
    "head": "head",
    "distillation_head": "head_dist",
}


def _transformers(module: str, heads: dict[str, str]) -> dict[str, str]:
    return heads | {
        "class_token": f"{module}.embeddings.cls_token",
        "distillation_token": f"{module}.embeddings.distillation_token",
        "position": f"{module}.embeddings.position_embeddings",
        "patch": f"{module}.embeddings.patch_embeddings.projection",
        "block": f"{module}.layers.",
        "norm1": "layernorm_before",
        "query": "attention.q_proj",
        "key": "attention.k_proj",
        "value": "attention.v_proj",
        "output": "attention.o_proj",
        "norm2": "layernorm_after",
        "up": "mlp.fc1",
        "down": "mlp.fc2",
        "norm": f"{module}.layernorm",
    }


HF = {
    "vit": _transformers("vit", {"head": "classifier"}),
    "deit": _transformers(
        "deit", {"head": "cls_classifier", "distillation_head": "distillation_classifier"}
    ),
}


def timm_weights(
    state: Mapping[str, Any], model: Architecture, *, norm_after_mean: bool = False
) -> VitWeights:
    """timm's ``VisionTransformer`` or ``VisionTransformerDistilled`` with the sizes of ``model``.

    ``no_embed_class`` in timm is ``position_extra`` 0; ``init_values`` is ``layer_scale``. The epsilon of the
    norms, 1e-6, is no entry of a state.

    Parameters
    ----------
    state : name to array
    norm_after_mean : the last norm is timm's ``fc_norm``, its default where the mean is read; the same is
        then said to ``vitbias.vit.forward``

    Raises
    ------
    ShapeError : an entry of another shape, under its name
    ValuesError : an entry that is missing, left over or not finite; a ``model`` that is no plain ViT
    """
    if require_instance("norm_after_mean", norm_after_mean, bool):
        return _Reader(state, TIMM | {"norm": TIMM["norm after mean"]}, model).weights()
    return _Reader(state, TIMM, model).weights()


def hf_weights(state: Mapping[str, Any], model: Architecture, *, module: str) -> VitWeights:
    """transformers' ViT or DeiT with the sizes of ``model``.

    ``module`` is "vit" for ``ViTForImageClassification`` and "deit" for
    ``DeiTForImageClassificationWithTeacher``, whose logits are the mean of two classifiers'. The epsilon of
    the norms is no entry of a state: ``layer_norm_eps`` of the configuration, 1e-12 unless changed.

    Raises
    ------
    ShapeError, ValuesError : as ``timm_weights``
    UnknownNameError : another ``module``
    """
    return _Reader(state, HF[require_choice("module", module, HF)], model).weights()


class _Reader:
    """One pass over a state; remembers what was used."""

    def __init__(self, state: Any, names: dict[str, str], model: Architecture) -> None:
        self.stage = plain_stage(model)
        self.state = require_instance("state", state, Mapping)  # type: ignore[type-abstract]
        self.names, self.model = names, model
        self.used: set[str] = set()

    def weights(self) -> VitWeights:
        model, d = self.model, self.stage.width
        side, classes = model.patch_px, model.classes or 0
        kernel = self.take(self.key("patch") + ".weight", d, model.channels, side, side)
        head, head_bias = self.affine("head", classes, d)
        second: tuple[Array | None, Array | None] = (None, None)
        if model.read_out == TWO:
            second = self.affine("distillation_head", classes, d)
        found = VitWeights(
            patch=kernel.transpose(0, 2, 3, 1).reshape(d, -1),
            patch_bias=self.take(self.key("patch") + ".bias", d),
            extra_tokens=self.extra_tokens(),
            position=self.table(),
            blocks=tuple(self.block(number) for number in range(self.stage.depth)),
            norm=self.norm("norm"),
            head=head,
            head_bias=head_bias,
            distillation_head=second[0],
            distillation_head_bias=second[1],
        )
        left = [describe(key) for key in self.state if key not in self.used]
        if left:
            more = f" and {len(left) - 1} more" if left[1:] else ""
            got = Literal(f"{left[0]}{more}")
            raise ValuesError("state", expected="no entry but the model's", got=got)
        return found

    def key(self, part: str) -> str:
        if part not in self.names:
            got = Literal(f"a model with {part}")
            raise ValuesError("model", expected="only parts that the release has", got=got)
        return self.names[part]

    def take(self, key: str, *shape: int) -> Array:
        if key not in self.state:
            raise ValuesError(key, expected="an entry of the state", got=Literal("none"))
        self.used.add(key)
        return require_floats(key, self.state[key], " ".join(map(str, shape)))

    def affine(self, part: str, rows: int, columns: int, before: str = "") -> tuple[Array, Array]:
        key = before + self.key(part)
        return self.take(f"{key}.weight", rows, columns), self.take(f"{key}.bias", rows)

    def norm(self, part: str, before: str = "") -> tuple[Array, Array]:
        key, d = before + self.key(part), self.stage.width
        return self.take(f"{key}.weight", d), self.take(f"{key}.bias", d)

    def extra_tokens(self) -> Array | None:
        """Class, distillation, registers: the order in which both releases put them in front."""
        rows = [
            self.take(self.key(part), 1, count, self.stage.width)[0]
            for part in ("class_token", "distillation_token", "registers")
            if (count := int(getattr(self.model, part)))
        ]
        return np.concatenate(rows) if rows else None

    def table(self) -> Array | None:
        if self.model.position not in TABLES:
            return None
        rows = self.model.patches + (self.model.position_extra or 0)
        table: Array = self.take(self.key("position"), 1, rows, self.stage.width)[0]
        return table

    def block(self, number: int) -> BlockWeights:
        before, d, hidden = f"{self.key('block')}{number}.", self.stage.width, self.stage.hidden
        if "query" in self.names:
            maps = [self.affine(part, d, d, before) for part in ("query", "key", "value")]
        else:
            stacked = self.affine("query, key, value", 3 * d, d, before)
            maps = list(zip(*(np.split(array, 3) for array in stacked), strict=True))
        maps.append(self.affine("output", d, d, before))
        scales: list[Array | None] = [None, None]
        if self.model.layer_scale:
            scales = [self.take(before + self.key(part), d) for part in ("scale1", "scale2")]
        return BlockWeights(
            self.norm("norm1", before),
            HeadWeights(*(array for pair in maps for array in pair)),
            self.norm("norm2", before),
            *self.affine("up", hidden, d, before),
            *self.affine("down", d, hidden, before),
            *scales,
        )
