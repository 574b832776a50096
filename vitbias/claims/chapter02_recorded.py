"""Claim of chapter 2: the NumPy transformer computes what released code computes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from vitbias.architecture import Architecture, plain_vit
from vitbias.arrays import Array
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.formatting import below
from vitbias.readers.timm_weights import hf_weights, timm_weights
from vitbias.recordings import recorded
from vitbias.vit import VitWeights, forward

__all__ = ["CASES", "CLAIMS", "LIMIT", "Case", "differences"]

LIMIT = 1e-10


@dataclass(frozen=True)
class Case:
    """What has to be said to the reader and to ``forward`` beside the recorded weights.

    fused : the release computes attention in one operator, which does not return its weights
    """

    model: Architecture
    read: Callable[[Mapping[str, Any], Architecture], VitWeights]
    epsilon: float = 1e-6
    norm_after_mean: bool = False
    fused: bool = False


def _timm(*, norm_after_mean: bool = False, **parts: Any) -> Case:
    model = plain_vit((15, 20), 5, 14, 2, 7, 3, mlp_ratio=2, **parts)  # type: ignore[arg-type]
    read = partial(timm_weights, norm_after_mean=norm_after_mean)
    return Case(model, read, norm_after_mean=norm_after_mean)


def _transformers(module: str, **parts: Any) -> Case:
    model = plain_vit(15, 5, 14, 2, 7, 3, mlp_ratio=2, **parts)
    return Case(model, partial(hf_weights, module=module), epsilon=1e-3, fused=True)


DISTILLED: dict[str, Any] = {
    "distillation_token": True,
    "read_out": "class and distillation",
    "supervision": "hard distillation",
    "teacher": "not stated",
}
# the recordings of forward passes; ``tests/models/released.py`` makes the same models
CASES = {
    "forward timm class": _timm(),
    "forward timm mean": _timm(read_out="mean"),
    "forward timm norm after mean": _timm(
        read_out="mean", class_token=True, registers=2, norm_after_mean=True
    ),
    "forward timm registers": _timm(registers=4, position_extra=0, layer_scale=True),
    "forward timm distilled": _timm(**DISTILLED),
    "forward transformers class": _transformers("vit"),
    "forward transformers distilled": _transformers("deit", **DISTILLED),
}


def differences(case: Case, arrays: Mapping[str, Array]) -> dict[str, float]:
    """Stage to largest absolute difference of our forward pass from recorded or live ``arrays``.

    Raises
    ------
    AssertionError : the release has other stages; it may lack the patches, and the weights where it is fused
    """
    state, theirs = (
        {key.removeprefix(start): value for key, value in arrays.items() if key.startswith(start)}
        for start in ("state ", "trace ")
    )
    logits, ours = forward(
        arrays["pictures"],
        case.read(state, case.model),
        case.model,
        epsilon=case.epsilon,
        norm_after_mean=case.norm_after_mean,
    )
    if "read_out 1" in theirs:  # released code reads two tokens apart
        theirs["read_out"] = np.stack([theirs.pop(f"read_out {n}") for n in (1, 2)], axis=-2)
    absent = {"patches"}  # released code convolves the picture
    if case.fused:
        absent |= {f"block {number} weights" for number in range(1, case.model.depth + 1)}
    hold(set(ours) - absent == set(theirs), "the recording has our stages")
    found = {
        stage: float(abs(value - theirs[stage]).max())
        for stage, value in ours.items()
        if stage not in absent
    }
    return found | {"logits": float(abs(logits - arrays["logits"]).max())}


def _recorded_passes() -> Evidence:
    worst, stages = 0.0, 0
    for name, case in CASES.items():
        found = differences(case, recorded(name).arrays)
        hold(max(found.values()) <= LIMIT, f"{name}: every stage is the recorded one")
        worst, stages = max(worst, *found.values()), stages + len(found)
    return {
        "released models": str(len(CASES)),
        "stages compared": str(stages),
        "largest difference": below(worst, LIMIT),
    }


CLAIMS = (
    Claim(
        id="V2.1",
        statement="This book's forward pass agrees with released code at every stage.",
        tier="measured",
        place="connectivity",
        assumptions=("float64", "random weights", "small recorded models"),
        fails_when="another epsilon, order of rows, or place of the last norm is assumed",
        chapter="02_vit_reference",
        evidence=_recorded_passes,
    ),
)
