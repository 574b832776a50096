"""Published configurations by name: those of papers, and what timm and torchvision build.

>>> from vitbias.readers.catalogue import published
>>> model = published("ViT-B/16")
>>> model.tokens, model.raw_dim, model.width
(197, 768, 768)
>>> published("timm:vit_small_patch14_dinov2").tokens
1370

An entry is one release. With "timm:" or "torchvision:" in front, a name is that library's and means what the
library builds (``vitbias.readers.library_names``). Without, it is a paper's model, with "@" and a side [px]
where the picture is not 224 px:

ViT    the model that classifies 1,000 ImageNet classes by one linear map, as after fine-tuning; ViT's
       pre-training has one more hidden layer before it and other classes (``representation``, ``classes``).
       The paper pre-trains at 224 px and fine-tunes at 384 px or more: its sizes at 224 px join the
       resolution of the one with the read-out of the other
DeiT   the model as trained and evaluated; a distilled one has a second token with a classifier of its own,
       and its teacher is the paper's default
Swin   without a table of absolute positions, relative biases in every block; at 384 px its window is 12

Sources: ViT B, L, H: Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2), table 1. ViT Ti, S and B/8: Steiner
et al., TMLR 2022 (arXiv:2106.10270), and the release google-research/vision_transformer,
vit_jax/configs/models.py. DeiT: Touvron et al., ICML 2021 (arXiv:2012.12877v2), table 1 and section 4.
Swin: Liu et al., ICCV 2021 (arXiv:2103.14030v2), section 3.3; the window at 384 px from the release
microsoft/Swin-Transformer (swin_base_patch4_window12_384, swin_large_patch4_window12_384).
"""

from dataclasses import dataclass

from vitbias.architecture import Architecture, Stage
from vitbias.errors import Literal, UnknownNameError, describe, require_choice
from vitbias.readers.library_names import REFUSED, library_models

__all__ = ["NAMES", "Release", "published", "release", "releases"]

LIBRARIES = ("timm", "torchvision")
PAPER = "Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2), table 1"
PAPER_224 = f"{PAPER}; at the resolution of pre-training, with the read-out of fine-tuning"
AUGREG = "Steiner et al., TMLR 2022 (arXiv:2106.10270); released vit_jax/configs/models.py"
DEIT = "Touvron et al., ICML 2021 (arXiv:2012.12877v2), table 1"
DISTILLED = "Touvron et al., ICML 2021 (arXiv:2012.12877v2), table 1 and section 4"
SWIN = "Liu et al., ICCV 2021 (arXiv:2103.14030v2), section 3.3"
SWIN_384 = f"{SWIN}; window 12: released swin_base_ and swin_large_patch4_window12_384"

# size: width, blocks, heads
PLAIN = {
    "Ti": (192, 12, 3),
    "S": (384, 12, 6),
    "B": (768, 12, 12),
    "L": (1024, 24, 16),
    "H": (1280, 32, 16),
}
# size and patch: sides of the picture [px]
VIT = {
    "Ti/16": (224, 384),
    "S/16": (224, 384),
    "S/32": (224, 384),
    "B/8": (224,),
    "B/16": (224, 384),
    "B/32": (224, 384),
    "L/16": (224, 384, 512),
    "L/32": (224, 384),
    "H/14": (224, 518),
}
STUDENTS = {"Ti": (224,), "S": (224,), "B": (224, 384)}
# size: width of the first stage, its heads, blocks of the third stage, (side [px], window)
HIERARCHICAL = {
    "T": (96, 3, 6, ((224, 7),)),
    "S": (96, 3, 18, ((224, 7),)),
    "B": (128, 4, 18, ((224, 7), (384, 12))),
    "L": (192, 6, 18, ((224, 7), (384, 12))),
}


@dataclass(frozen=True)
class Release:
    """One entry: who gives the name, the name there, and what it is a name of.

    library : "paper", "timm" or "torchvision"
    """

    library: str
    name: str
    architecture: Architecture

    @property
    def counted(self) -> str:
        """What the counts hold behind the last block."""
        model = self.architecture
        if model.classes is None:
            head = "no classifier"
        else:
            number = (
                "two classifiers" if model.read_out.endswith("distillation") else "a classifier"
            )
            head = f"{number} of {model.classes:,} classes"
        return f"attention pool, {head}" if model.read_out == "attention pool" else head


def published(name: str) -> Architecture:
    """The published configuration with this name.

    Raises
    ------
    UnknownNameError : with the nearest names; a family that no description here carries, with the reason
    """
    return release(name).architecture


def release(name: str) -> Release:
    """The entry with this name.

    >>> release("timm:vit_huge_patch14_224").counted
    'no classifier'

    Raises
    ------
    UnknownNameError : as ``published``
    """
    library, _, own = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not own:
        return Release("paper", name, MODELS[require_choice("name", name, MODELS)])
    require_choice("library", library, LIBRARIES)
    for family, reason in REFUSED.items():
        if own.startswith(family):
            got = Literal(f"{describe(name)}: {reason}")
            raise UnknownNameError("name", expected="a family that can be described", got=got)
    models = library_models()
    return Release(library, own, models[require_choice("name", name, models)])


def releases() -> tuple[Release, ...]:
    """Every entry: the papers' names, then timm's and torchvision's."""
    return tuple(release(name) for name in (*MODELS, *library_models()))


def _named(stem: str, side: int) -> str:
    return stem if side == 224 else f"{stem}@{side}"


def _vit(size: str, patch: int, side: int) -> Architecture:
    width, depth, heads = PLAIN[size]
    augreg = size in ("Ti", "S") or patch == 8
    return Architecture(
        name=_named(f"ViT-{size}/{patch}", side),
        image_px=(side, side),
        patch_px=patch,
        stages=(Stage(depth, width, heads),),
        source=AUGREG if augreg else PAPER_224 if side == 224 else PAPER,
    )


def _deit(size: str, side: int, distilled: bool) -> Architecture:
    width, depth, heads = PLAIN[size]
    return Architecture(
        name=_named(f"DeiT-{size} distilled" if distilled else f"DeiT-{size}", side),
        image_px=(side, side),
        patch_px=16,
        stages=(Stage(depth, width, heads),),
        distillation_token=distilled,
        read_out="class and distillation" if distilled else "class",
        supervision="hard distillation" if distilled else "labels",
        teacher="RegNetY-16GF" if distilled else None,
        source=DISTILLED if distilled else DEIT,
    )


def _swin(size: str, side: int, window: int) -> Architecture:
    width, heads, third, _ = HIERARCHICAL[size]
    depths = (2, 2, third, 2)
    return Architecture(
        name=_named(f"Swin-{size}", side),
        image_px=(side, side),
        patch_px=4,
        stages=tuple(
            Stage(depth, width * 2**k, heads * 2**k, window=window)
            for k, depth in enumerate(depths)
        ),
        position="relative",
        class_token=False,
        read_out="mean",
        patch_norm=True,
        source=SWIN if side == 224 else SWIN_384,
    )


def _all() -> list[Architecture]:
    plain = [
        _vit(size, int(patch), side)
        for size, _, patch, sides in ((*key.partition("/"), sides) for key, sides in VIT.items())
        for side in sides
    ]
    students = [
        _deit(size, side, distilled)
        for distilled in (False, True)
        for size, sides in STUDENTS.items()
        for side in sides
    ]
    hierarchical = [
        _swin(size, side, window)
        for size, (_, _, _, pictures) in HIERARCHICAL.items()
        for side, window in pictures
    ]
    return [*plain, *students, *hierarchical]


MODELS = {model.name: model for model in _all()}
NAMES = tuple(MODELS)
