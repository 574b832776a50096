"""What released code computes: tables resized and forward passes with every intermediate, in arrays.

Needs the extra ``models``; ``record.py`` writes the arrays down and ``test_live.py`` compares them.

All weights are random, of seeds that stand here; nothing is downloaded. Models run in float64 on the CPU.
The intermediates come from hooks under the names that ``vitbias.vit.forward`` gives them.
"""

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

try:
    import torchvision  # noqa: F401  # timm imports it, for pictures
except (RuntimeError, AttributeError):
    # its compiled operators do not fit a CPU build of torch; nothing here calls one, and what stops the
    # import is this module, which only describes their shapes
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]
    sys.modules["torchvision._meta_registrations"] = types.ModuleType("_meta_registrations")

from timm import create_model
from timm.layers import resample_abs_pos_embed
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import VisionTransformer
from transformers import (
    DeiTConfig,
    DeiTForImageClassificationWithTeacher,
    Dinov2WithRegistersConfig,
    ViTConfig,
    ViTForImageClassification,
)
from transformers.models.deit.modeling_deit import DeiTEmbeddings
from transformers.models.dinov2_with_registers.modeling_dinov2_with_registers import (
    Dinov2WithRegistersEmbeddings,
)
from transformers.models.vit.modeling_vit import ViTEmbeddings

__all__ = ["CASES", "Arrays", "create_model", "resizing_rectangular", "run", "run_case", "versions"]

Arrays = dict[str, np.ndarray[Any, np.dtype[Any]]]

# grids (rows, columns): both ways, one axis alone, and single slots
GRIDS = (
    ((14, 14), (10, 20)),
    ((14, 14), (7, 7)),
    ((7, 9), (5, 11)),
    ((9, 7), (14, 14)),
    ((5, 11), (11, 5)),
    ((4, 6), (4, 9)),
    ((3, 5), (1, 1)),
    ((1, 1), (2, 3)),
)
PREFIXES = (0, 1, 2, 5)
TABLE_WIDTH = 2


def versions(*packages: str) -> dict[str, str]:
    """Of what computed the arrays; a local label such as "+cpu" is left out."""
    return {name: version(name).split("+")[0] for name in packages}


def resizing_rectangular() -> Arrays:
    """Tables of positions for other grids.

    ``AxB_to_CxD_pR__in`` is the table, float32, R prefix rows in front; ``__timm_…`` is float32 and has them
    too, ``__torch64_…`` is float64 and for R = 0 alone. ``__hfvit`` (1 prefix row, float64), ``__hfdeit``
    (2, float64) and ``__hfdinov2reg`` (1, float32) need a square old grid.
    """
    rng = np.random.default_rng(48_271)
    arrays: Arrays = {}
    for old, new in GRIDS:
        for prefix in PREFIXES:
            key = f"{old[0]}x{old[1]}_to_{new[0]}x{new[1]}_p{prefix}_"
            rows = prefix + old[0] * old[1]
            table = rng.normal(size=(rows, TABLE_WIDTH)).astype(np.float32)
            arrays[f"{key}_in"] = table
            for mode in ("bicubic", "bilinear"):
                for antialias in (True, False):
                    tail = f"{mode}_aa{int(antialias)}"
                    arrays[f"{key}_timm_{tail}"] = resample_abs_pos_embed(
                        torch.from_numpy(table)[None],
                        new_size=list(new),
                        old_size=list(old),
                        num_prefix_tokens=prefix,
                        interpolation=mode,
                        antialias=antialias,
                    )[0].numpy()
                    if prefix:
                        continue
                    patches = torch.from_numpy(table.astype(np.float64))
                    grid = patches.reshape(1, *old, TABLE_WIDTH).permute(0, 3, 1, 2)
                    resized = torch.nn.functional.interpolate(
                        grid, size=new, mode=mode, antialias=antialias, align_corners=False
                    )
                    arrays[f"{key}_torch64_{tail}"] = (
                        resized[0].permute(1, 2, 0).reshape(-1, TABLE_WIDTH).numpy()
                    )
            if old[0] == old[1]:
                arrays |= _by_transformers(key, table, old[0], new, prefix)
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _by_transformers(
    key: str, table: np.ndarray[Any, Any], side: int, new: tuple[int, int], prefix: int
) -> Arrays:
    sizes = {
        "image_size": side,
        "patch_size": 1,
        "hidden_size": TABLE_WIDTH,
        "num_attention_heads": 1,
    }
    found: dict[str, tuple[int, Callable[[], Any], type]] = {
        "hfvit": (1, lambda: ViTEmbeddings(ViTConfig(**sizes)), np.float64),
        "hfdeit": (2, lambda: DeiTEmbeddings(DeiTConfig(**sizes)), np.float64),
        "hfdinov2reg": (
            1,
            lambda: Dinov2WithRegistersEmbeddings(Dinov2WithRegistersConfig(**sizes)),
            np.float32,
        ),
    }
    arrays: Arrays = {}
    for name, (count, make, kind) in found.items():
        if count != prefix:
            continue
        embeddings = make()
        embeddings.position_embeddings = torch.nn.Parameter(
            torch.from_numpy(table.astype(kind))[None], requires_grad=False
        )
        tokens = torch.zeros(1, prefix + new[0] * new[1], TABLE_WIDTH)
        arrays[f"{key}_{name}"] = embeddings.interpolate_pos_encoding(tokens, *new)[0].numpy()
    return arrays


@dataclass(frozen=True)
class Case:
    """A small released model; ``vitbias.claims.chapter02_recorded.CASES`` describes the same ones."""

    make: Callable[[], torch.nn.Module]
    seed: int
    package: str


# distinct primes where the parts allow it: 15 x 20 px (3 x 4 patches of 5 px), width 14, 7 heads, 3 classes
SIZES = {"img_size": (15, 20), "patch_size": 5, "embed_dim": 14, "num_heads": 7, "depth": 2}
SIZES |= {"num_classes": 3, "mlp_ratio": 2}
# transformers takes square pictures: 15 px, and an epsilon that nobody would guess. Its "eager" attention
# takes the softmax in float32 also where all else is float64; the fused operator does not, but hides it
SQUARE = {
    "image_size": 15,
    "patch_size": 5,
    "hidden_size": 14,
    "num_attention_heads": 7,
    "num_hidden_layers": 2,
    "intermediate_size": 28,
    "num_labels": 3,
    "layer_norm_eps": 1e-3,
    "attn_implementation": "sdpa",
}


CASES = {
    "forward timm class": Case(lambda: VisionTransformer(**SIZES), 101, "timm"),
    "forward timm mean": Case(
        lambda: VisionTransformer(
            **SIZES, class_token=False, global_pool="avg", fc_norm=False, reg_tokens=0
        ),
        103,
        "timm",
    ),
    "forward timm norm after mean": Case(
        lambda: VisionTransformer(**SIZES, global_pool="avg", reg_tokens=2), 107, "timm"
    ),
    "forward timm registers": Case(
        lambda: VisionTransformer(**SIZES, reg_tokens=4, no_embed_class=True, init_values=1e-5),
        109,
        "timm",
    ),
    "forward timm distilled": Case(lambda: VisionTransformerDistilled(**SIZES), 113, "timm"),
    "forward transformers class": Case(
        lambda: ViTForImageClassification(ViTConfig(**SQUARE)), 127, "transformers"
    ),
    "forward transformers distilled": Case(
        lambda: DeiTForImageClassificationWithTeacher(DeiTConfig(**SQUARE)),
        131,
        "transformers",
    ),
}


def run_case(name: str) -> Arrays:
    """A recording: ``pictures``, ``logits``, ``state …`` and ``trace …`` of one case."""
    case = CASES[name]
    return run(case.make(), case.seed, count=1)


def run(model: torch.nn.Module, seed: int, *, count: int) -> Arrays:
    """Random weights and pictures of a seed; the model's own forward pass with hooks.

    Every weight is drawn anew, also those that releases start at 0 or 1, so that none is without effect.
    """
    rng = np.random.default_rng(seed)
    model = model.double().eval()
    with torch.no_grad():
        for key, weight in model.state_dict().items():
            fan_in = weight[0].numel() if weight.ndim in (2, 4) else model_width(model)
            centre = float(key.endswith(("norm1.weight", "norm2.weight", "gamma")))
            weight.copy_(torch.from_numpy(centre + rng.normal(0, fan_in**-0.5, weight.shape)))
        height, width = picture_sides(model)
        pictures = rng.normal(size=(count, height, width, 3))
        trace: Arrays = {}
        hooks = _hook(model, trace)
        output = model(torch.from_numpy(pictures.transpose(0, 3, 1, 2).copy()))
        for hook in hooks:
            hook.remove()
    logits = output if isinstance(output, torch.Tensor) else output.logits
    arrays = {"pictures": pictures, "logits": logits.numpy()}
    arrays |= {f"state {key}": value.numpy() for key, value in model.state_dict().items()}
    arrays |= {f"trace {key}": value for key, value in trace.items()}
    return arrays


def model_width(model: torch.nn.Module) -> int:
    return model.config.hidden_size if hasattr(model, "config") else model.embed_dim


def picture_sides(model: torch.nn.Module) -> tuple[int, int]:
    if hasattr(model, "config"):
        return model.config.image_size, model.config.image_size
    return tuple(model.patch_embed.img_size)


def _hook(model: torch.nn.Module, trace: Arrays) -> list[Any]:
    """Hooks that put each stage into ``trace`` under the book's name."""
    hooks = []

    def output(module: torch.nn.Module, name: str) -> None:
        def keep(_module: Any, _inputs: Any, value: Any) -> None:
            tensor = value[0] if isinstance(value, tuple) else value
            trace[name] = tensor.numpy().copy()

        hooks.append(module.register_forward_hook(keep))

    def entry(module: torch.nn.Module, name: str) -> None:
        def keep(_module: Any, inputs: Any) -> None:
            trace[name] = inputs[0].numpy().copy()

        hooks.append(module.register_forward_pre_hook(keep))

    if hasattr(model, "config"):
        _hook_transformers(model, output, entry)
    else:
        _hook_timm(model, output, entry)
    return hooks


def _hook_timm(model: Any, output: Callable[..., None], entry: Callable[..., None]) -> None:
    output(model.patch_embed, "patch_tokens")
    entry(model.blocks[0], "tokens")
    for number, block in enumerate(model.blocks, start=1):
        name = f"block {number}"
        block.attn.fused_attn = False  # the fused operator does not give its weights away
        output(block.norm1, f"{name} norm1")
        output(block.attn.attn_drop, f"{name} weights")
        output(block.ls1, f"{name} attention")
        entry(block.norm2, f"{name} middle")
        output(block.norm2, f"{name} norm2")
        output(block.ls2, f"{name} mlp")
        output(block, name)
    if isinstance(model.fc_norm, torch.nn.Identity):
        output(model.norm, "norm")
    else:
        entry(model.fc_norm, "mean")
    if isinstance(model, VisionTransformerDistilled):
        entry(model.head, "read_out 1")
        entry(model.head_dist, "read_out 2")
    else:
        entry(model.head, "read_out")


def _hook_transformers(model: Any, output: Callable[..., None], entry: Callable[..., None]) -> None:
    distilled = hasattr(model, "deit")
    body = model.deit if distilled else model.vit
    output(body.embeddings.patch_embeddings, "patch_tokens")
    output(body.embeddings, "tokens")
    for number, block in enumerate(body.layers, start=1):
        name = f"block {number}"
        output(block.layernorm_before, f"{name} norm1")
        output(block.attention, f"{name} attention")
        entry(block.layernorm_after, f"{name} middle")
        output(block.layernorm_after, f"{name} norm2")
        output(block.mlp, f"{name} mlp")
        output(block, name)
    output(body.layernorm, "norm")
    if distilled:
        entry(model.cls_classifier, "read_out 1")
        entry(model.distillation_classifier, "read_out 2")
    else:
        entry(model.classifier, "read_out")
