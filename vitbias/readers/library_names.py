"""Releases of timm and torchvision by the names that these libraries give them.

>>> from vitbias.readers.catalogue import published
>>> published("timm:vit_huge_patch14_224").classes, published("torchvision:vit_h_14").classes
(None, 1000)

A name means what its library builds from it when nothing else is asked for: its picture, its patch, and its
head. timm's heads differ from name to name: 1,000 classes, 21,841 classes, the width of a text encoder, or
none, where the tokens behind the last norm are the output. So the same paper's model has other counts under
another name.

Convention: hidden widths are written out where a library rounds a ratio. Positions of Swin v2 are an MLP of
the offset; its counts hold one pass of that MLP in each block. Whether a class token is read or the mean is
taken does not change a count; where there is no classifier, the read-out is "none".

Sources: timm 1.0.31 and torchvision 0.28.0, their model definitions; Touvron et al. 2022 (arXiv:2204.07118)
for DeiT III; Liu et al., CVPR 2022 (arXiv:2111.09883) for Swin v2; Bao et al., ICLR 2022 (arXiv:2106.08254)
for BEiT; Wang et al., CVPR 2023 (arXiv:2208.10442) for BEiT-3; Oquab et al. 2023 (arXiv:2304.07193) and
Darcet et al. 2023 (arXiv:2309.16588) for DINOv2 and registers; Siméoni et al. 2025 (arXiv:2508.10104) for
DINOv3; Zhai et al., ICCV 2023 (arXiv:2303.15343) for SigLIP; Radford et al., ICML 2021 (arXiv:2103.00020)
for CLIP; Fang et al. 2023 (arXiv:2303.11331) for EVA-02; Touvron et al., ICCV 2021 (arXiv:2103.17239) for
CaiT; Chen et al., NeurIPS 2021 (arXiv:2111.14725) for Swin S3.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from vitbias.architecture import Architecture, Stage

__all__ = ["REFUSED", "library_models"]

TIMM, TORCHVISION = "timm 1.0.31", "torchvision 0.28.0"

# families of timm that the description does not carry, and why
REFUSED = {
    "pvt_v2": "keys and values are taken from a coarser grid than queries",
    "levit": "a convolutional stem and attention that shrinks the grid",
    "convnext": "convolutions and no attention",
    "mixer": "tokens are mixed by an MLP",
    "pit": "pooling by convolution between stages that keep a class token",
    "maxvit": "convolutions, and windows and grids in turn",
}

# size: width, blocks, heads, hidden width of the MLP
PLAIN = {
    "tiny": (192, 12, 3, 768),
    "xsmall": (256, 10, 4, 1024),
    "small": (384, 12, 6, 1536),
    "medium": (512, 12, 8, 2048),
    "betwixt": (640, 12, 10, 2560),
    "base": (768, 12, 12, 3072),
    "base plus": (896, 12, 14, 3584),
    "large": (1024, 24, 16, 4096),
    "so400m": (1152, 27, 16, 4304),
    "huge": (1280, 32, 16, 5120),
    "giant": (1408, 40, 16, 6144),
    "giantopt": (1536, 40, 16, 6144),
    "gigantic": (1664, 48, 16, 8192),
}
# CLIP's text encoders: the width that a tower without other training ends in
TEXT_WIDTH = {
    "xsmall": 512,
    "medium": 512,
    "betwixt": 512,
    "base": 512,
    "base plus": 640,
    "large": 768,
    "huge": 1024,
    "giant": 1024,
    "gigantic": 1280,
}

# names that end in _patch{P}_{side}: size, patch, side [px], classes
VIT = (
    *(("tiny", 16, 224, 1000), ("tiny", 16, 384, 1000)),
    *(("small", 32, 224, 1000), ("small", 32, 384, 1000)),
    *(("small", 16, 224, 1000), ("small", 16, 384, 1000), ("small", 8, 224, None)),
    *(("base", 32, 224, 1000), ("base", 32, 384, 1000)),
    *(("base", 16, 224, 1000), ("base", 16, 384, 1000), ("base", 8, 224, 1000)),
    *(("large", 32, 224, None), ("large", 32, 384, 1000)),
    *(("large", 16, 224, 1000), ("large", 16, 384, 1000), ("large", 14, 224, 1000)),
    ("huge", 14, 224, None),
)
DEIT = (("tiny", 224), ("small", 224), ("base", 224), ("base", 384))
DEIT3 = (
    *(("small", 16, 224), ("small", 16, 384), ("medium", 16, 224), ("base", 16, 224)),
    *(("base", 16, 384), ("large", 16, 224), ("large", 16, 384), ("huge", 14, 224)),
)
# width, heads, and blocks of the stages; names: size, window, side, classes
SWIN = {
    "tiny": (96, 3, (2, 2, 6, 2)),
    "small": (96, 3, (2, 2, 18, 2)),
    "base": (128, 4, (2, 2, 18, 2)),
    "large": (192, 6, (2, 2, 18, 2)),
}
SWIN_V1 = (
    *(("tiny", 7, 224), ("small", 7, 224), ("base", 7, 224), ("large", 7, 224)),
    *(("base", 12, 384), ("large", 12, 384)),
)
SWIN_S3 = {
    "tiny": ((7, 7, 14, 7), (2, 2, 6, 2)),
    "small": ((14, 14, 14, 7), (2, 2, 18, 2)),
    "base": ((7, 7, 14, 7), (2, 2, 30, 2)),
}
SWIN_V2 = {
    **{f"tiny_window{w}_256": ("tiny", w, 256, 1000) for w in (8, 16)},
    **{f"small_window{w}_256": ("small", w, 256, 1000) for w in (8, 16)},
    **{f"base_window{w}_256": ("base", w, 256, 1000) for w in (8, 16)},
    **{f"{size}_window12_192": (size, 12, 192, 21841) for size in ("base", "large")},
    **{f"{size}_window12to16_192to256": (size, 16, 256, 1000) for size in ("base", "large")},
    **{f"{size}_window12to24_192to384": (size, 24, 384, 1000) for size in ("base", "large")},
}
BEIT = (
    *(("beit", "base", 224), ("beit", "base", 384), ("beit", "large", 224)),
    *(("beit", "large", 384), ("beit", "large", 512)),
    *(("beitv2", "base", 224), ("beitv2", "large", 224)),
)
BEIT3 = (("base", 16, 224), ("large", 16, 224), ("giant", 14, 224), ("giant", 14, 336))
SIGLIP = (
    *(("base", 16, side) for side in (224, 256, 384, 512)),
    ("base", 32, 256),
    *(("large", 16, side) for side in (256, 384, 512)),
    *(("so400m", 14, side) for side in (224, 378, 384)),
    *(("so400m", 16, side) for side in (256, 384, 512)),
    *(("giantopt", 16, side) for side in (256, 384)),
)
# the same towers without the pooling, and two larger pictures
SIGLIP_GAP = (*SIGLIP, ("so400m", 14, 448), ("so400m", 14, 896))
# classes None: the width of the text encoder
CLIP = (
    *(("xsmall", 16, 224, None), ("medium", 32, 224, None), ("medium", 16, 224, None)),
    ("betwixt", 32, 224, None),
    *(("base", 32, 224, 1000), ("base", 32, 256, None), ("base", 32, 384, 1000)),
    *(("base", 32, 448, 1000), ("base", 16, 224, 1000), ("base", 16, 384, 1000)),
    *(("large", 14, 224, 1000), ("large", 14, 336, 1000)),
    *(("huge", 14, 224, 1000), ("huge", 14, 336, 1000), ("huge", 14, 378, None)),
    *(("giant", 14, 224, None), ("gigantic", 14, 224, None), ("gigantic", 14, 378, None)),
)
QUICK = (
    *(("base", 32, 224), ("base", 16, 224), ("large", 14, 224), ("large", 14, 336)),
    *(("huge", 14, 224), ("huge", 14, 378), ("gigantic", 14, 224)),
)
DINO_V3 = {
    "small": ("small", False, True),
    "small_plus": ("small", True, True),
    "base": ("base", False, True),
    "large": ("large", False, True),
    "huge_plus": ("huge", True, True),
}
CAIT = {
    "xxs24": (192, 24, 4),
    "xxs36": (192, 36, 4),
    "xs24": (288, 24, 6),
    "s24": (384, 24, 8),
    "s36": (384, 36, 8),
    "m36": (768, 36, 16),
    "m48": (768, 48, 16),
}
CAIT_SIDES = (
    *(("xxs24", 224), ("xxs24", 384), ("xxs36", 224), ("xxs36", 384), ("xs24", 384)),
    *(("s24", 224), ("s24", 384), ("s36", 384), ("m36", 384), ("m48", 448)),
)
# what torchvision builds, by its own names: size, patch, side
TORCHVISION_VIT = {
    "vit_b_16": ("base", 16, 224),
    "vit_b_32": ("base", 32, 224),
    "vit_l_16": ("large", 16, 224),
    "vit_l_32": ("large", 32, 224),
    "vit_h_14": ("huge", 14, 224),
}


@cache
def library_models() -> dict[str, Architecture]:
    """Every release, by library and name with a colon between."""
    return {model.name: model for model in _all()}


def _all() -> Iterator[Architecture]:
    for group in (_plain, _swin, _beit, _dino, _siglip, _clip, _eva02, _cait, _torchvision):
        yield from group()


def _plain() -> Iterator[Architecture]:
    for size, patch, side, classes in VIT:
        yield _timm(f"vit_{size}_patch{patch}_{side}", size, patch, side, classes)
    for size, side in DEIT:
        yield _timm(f"deit_{size}_patch16_{side}", size, 16, side, 1000)
        yield _timm(
            f"deit_{size}_distilled_patch16_{side}",
            *(size, 16, side, 1000),
            distillation_token=True,
            read_out="class and distillation",
            supervision="hard distillation",
            teacher="RegNetY-16GF",
        )
    for size, patch, side in DEIT3:
        name = f"deit3_{size}_patch{patch}_{side}"
        yield _timm(name, size, patch, side, 1000, position_extra=0, layer_scale=True)


def _swin() -> Iterator[Architecture]:
    for size, window, side in SWIN_V1:
        name = f"swin_{size}_patch4_window{window}_{side}"
        yield _windowed(name, size, (window,) * 4, side, position="relative")
    for size, (windows, depths) in SWIN_S3.items():
        # its base is as wide as its small
        wide = "small" if size == "base" else size
        yield _windowed(f"swin_s3_{size}_224", wide, windows, 224, depths, position="relative")
    for name, (size, window, side, classes) in SWIN_V2.items():
        parts: dict[str, Any] = {"classes": classes, "key_bias": False, **V2}
        yield _windowed(f"swinv2_{name}", size, (window,) * 4, side, **parts)


def _beit() -> Iterator[Architecture]:
    for family, size, side in BEIT:
        parts: dict[str, Any] = {"position": "relative", "key_bias": False, "layer_scale": True}
        parts |= AVERAGED
        yield _timm(f"{family}_{size}_patch16_{side}", size, 16, side, 1000, **parts)
    for size, patch, side in BEIT3:
        name = f"beit3_{size}_patch{patch}_{side}"
        normed: dict[str, Any] = {"attention_norm": True, "mlp_norm": True}
        yield _timm(name, size, patch, side, 1000, **normed, **AVERAGED)


def _dino() -> Iterator[Architecture]:
    parts: dict[str, Any] = {"layer_scale": True, "supervision": "self-supervision"}
    registers: dict[str, Any] = {"registers": 4, "position_extra": 0}
    for size in ("small", "base", "large", "giant"):
        # its giant is as wide as SigLIP's, with more heads and a gate
        plain = Stage(40, 1536, 24, Fraction(8, 3)) if size == "giant" else size
        for middle, more in (("", {}), ("_reg4", registers)):
            name = f"vit_{size}_patch14{middle}_dinov2"
            gated = size == "giant"
            yield _timm(name, plain, 14, 518, None, **parts, **more, gated_mlp=gated)
    parts |= {"position": "rotary", "registers": 4}
    for size, (plain, gated, _) in DINO_V3.items():
        stage = Stage(32, 1280, 20) if plain == "huge" else plain
        for end, biased in (("", False), ("_qkvb", True)):
            more = {"qkv_bias": biased, "key_bias": False, "gated_mlp": gated}
            name = f"vit_{size}_patch16_dinov3{end}"
            yield _timm(name, stage, 16, 256, None, **parts, **more)
    more = {"key_bias": False}
    yield _timm("vit_tiny_patch16_dinov3_qkvb", "tiny", 16, 256, None, **parts, **more)
    more = {"qkv_bias": False, "gated_mlp": True}
    stage = Stage(40, 4096, 32, 2)
    yield _timm("vit_7b_patch16_dinov3", stage, 16, 256, None, **parts, **more)


def _siglip() -> Iterator[Architecture]:
    parts: dict[str, Any] = {"class_token": False, "supervision": "image and text"}
    for size, patch, side in SIGLIP:
        name = f"vit_{size}_patch{patch}_siglip_{side}"
        pool: dict[str, Any] = {
            "read_out": "attention pool",
            "border": "drop" if side % patch else None,
        }
        yield _timm(name, size, patch, side, None, **parts, **pool)
    for size, patch, side in SIGLIP_GAP:
        name = f"vit_{size}_patch{patch}_siglip_gap_{side}"
        border = "drop" if side % patch else None
        yield _timm(name, size, patch, side, None, **parts, border=border)


def _clip() -> Iterator[Architecture]:
    parts: dict[str, Any] = {
        "embedding_norm": True,
        "patch_bias": False,
        "supervision": "image and text",
    }
    for size, patch, side, classes in CLIP:
        name = f"vit_{size}_patch{patch}_clip_{side}"
        yield _timm(name, size, patch, side, classes or TEXT_WIDTH[size], **parts)
    name = "vit_base_patch16_plus_clip_240"
    yield _timm(name, "base plus", 16, 240, TEXT_WIDTH["base plus"], **parts)
    for size, patch, side in QUICK:
        name = f"vit_{size}_patch{patch}_clip_quickgelu_{side}"
        yield _timm(name, size, patch, side, TEXT_WIDTH[size], **parts)


def _eva02() -> Iterator[Architecture]:
    parts: dict[str, Any] = {"position": "learned and rotary", "key_bias": False}
    sides = {"tiny": 336, "small": 336, "base": 448, "large": 448}
    for size, large in sides.items():
        normed = size in ("base", "large")
        for side in (224, large):
            name = f"eva02_{size}_patch14_{side}"
            ends = {"pooled_norm": True} if side == 224 else AVERAGED
            more = {**parts, **GATED, **ends, "mlp_norm": normed}
            yield _timm(name, _gated(size), 14, side, None if side == 224 else 1000, **more)
    clipped = GATED | {"mlp_norm": True, "attention_norm": True}
    for size, patch, side in (("base", 16, 224), ("large", 14, 224), ("large", 14, 336)):
        name = f"eva02_{size}_patch{patch}_clip_{side}"
        yield _timm(name, _gated(size), patch, side, TEXT_WIDTH[size], **parts, **clipped)
    name, stage = "eva02_enormous_patch14_clip_224", Stage(64, 1792, 16, Fraction(60, 7))
    yield _timm(name, stage, 14, 224, 1024, key_bias=False, post_norm=True)


def _cait() -> Iterator[Architecture]:
    for size, side in CAIT_SIDES:
        width, depth, heads = CAIT[size]
        parts: dict[str, Any] = {"class_blocks": 2, "talking_heads": True, "layer_scale": True}
        stage = Stage(depth, width, heads)
        yield _timm(f"cait_{size}_{side}", stage, 16, side, 1000, **parts)


def _torchvision() -> Iterator[Architecture]:
    for name, (size, patch, side) in TORCHVISION_VIT.items():
        yield _timm(name, size, patch, side, 1000, library=TORCHVISION)
    for letter, size in (("t", "tiny"), ("s", "small"), ("b", "base")):
        v1: dict[str, Any] = {"position": "relative", "library": TORCHVISION}
        yield _windowed(f"swin_{letter}", size, (7,) * 4, 224, **v1)
        # the keys' biases are there and set to zero in every pass
        v2: dict[str, Any] = {**V2, "library": TORCHVISION}
        yield _windowed(f"swin_v2_{letter}", size, (8,) * 4, 256, **v2)


V2: dict[str, Any] = {
    "position": "continuous relative",
    "cosine_attention": True,
    "post_norm": True,
}
GATED: dict[str, Any] = {"gated_mlp": True}
AVERAGED: dict[str, Any] = {"read_out": "mean", "pooled_norm": True}


def _gated(size: str) -> Stage:
    """EVA-02 keeps an MLP's size with three maps: the hidden width is two thirds of the usual one."""
    width, depth, heads, _ = PLAIN[size]
    return Stage(depth, width, heads, Fraction(8 * width // 3, width))


def _timm(
    name: str,
    size: str | Stage,
    patch: int,
    side: int,
    classes: int | None,
    library: str = TIMM,
    **parts: Any,
) -> Architecture:
    if isinstance(size, str):
        width, depth, heads, hidden = PLAIN[size]
        size = Stage(depth, width, heads, Fraction(hidden, width))
    return Architecture(
        name=f"{library.partition(' ')[0]}:{name}",
        image_px=(side, side),
        patch_px=patch,
        stages=(size,),
        classes=classes,
        source=f"{library}, {name}",
        **{"read_out": "none" if classes is None else _reader(parts), **parts},
    )


def _reader(parts: dict[str, Any]) -> str:
    return "class" if parts.get("class_token", True) else "mean"


def _windowed(
    name: str,
    size: str,
    windows: tuple[int, ...],
    side: int,
    depths: tuple[int, ...] = (),
    classes: int = 1000,
    library: str = TIMM,
    **parts: Any,
) -> Architecture:
    width, heads, usual = SWIN[size]
    return Architecture(
        name=f"{library.partition(' ')[0]}:{name}",
        image_px=(side, side),
        patch_px=4,
        stages=tuple(
            Stage(depth, width * 2**k, heads * 2**k, window=window)
            for k, (depth, window) in enumerate(zip(depths or usual, windows, strict=True))
        ),
        class_token=False,
        read_out="mean",
        classes=classes,
        patch_norm=True,
        source=f"{library}, {name}",
        **parts,
    )
