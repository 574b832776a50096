"""What released code computes: tables resized and forward passes with every intermediate, in arrays.

Needs the extra ``models``; ``record.py`` writes the arrays down and ``test_live.py`` compares them.

All weights are random, of seeds that stand here; nothing is downloaded. Models run in float64 on the CPU.
The intermediates come from hooks under the names that ``vitbias.vit.forward`` gives them.
"""

import sys
import types
from collections.abc import Callable, Iterable
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

from timm.layers import resample_abs_pos_embed
from transformers import DeiTConfig, Dinov2WithRegistersConfig, ViTConfig
from transformers.models.deit.modeling_deit import DeiTEmbeddings
from transformers.models.dinov2_with_registers.modeling_dinov2_with_registers import (
    Dinov2WithRegistersEmbeddings,
)
from transformers.models.vit.modeling_vit import ViTEmbeddings

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
    too, ``__torch64_…`` is float64 and for R = 0 alone. ``__hfvit`` (1 prefix row, float64), ``__hfdeit`` (2, float64)
    and ``__hfdinov2reg`` (1, float32) need a square old grid.
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
