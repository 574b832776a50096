"""Claims of chapter 2 that rest on other publications: what they say, and where."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from vitbias.claims.record import Claim, Evidence, hold
from vitbias.counts import params
from vitbias.formatting import fmt
from vitbias.formula import raw_dim
from vitbias.patches import patchify
from vitbias.readers.catalogue import published
from vitbias.stems import stem_matrix

__all__ = ["BEFORE", "BERT_TOKENS", "CLAIMS", "LEARNING_RATES", "PIXEL_LAYERS"]

# Dosovitskiy et al., arXiv:2010.11929v2, section 2: work that it names as earlier, and what that did
BEFORE = {
    "Parmar et al. 2018": "attention in the neighbourhood of each pixel",
    "Ramachandran et al. 2019": "attention in place of all convolutions",
    "Cordonnier et al. 2020": "full attention on patches of 2 x 2 pixels",
    "Carion et al. 2020": "a Transformer behind a convolutional network, for detection",
    "Chen et al. 2020": "a Transformer on pixels; 72 % on ImageNet by a linear read-out",
}
# the same, legend of figure 9: learning rates of the two read-outs; the mean works at its second one
LEARNING_RATES = {"class token": ("8e-4",), "mean": ("8e-4", "3e-4")}
# Devlin et al., NAACL 2019, appendix A.2: tokens of a sequence at most
BERT_TOKENS = 512
# Liu et al., arXiv:2103.14030v2, section 3.1; Wu et al., arXiv:2103.15808, sections 3.1 and 3.2; d'Ascoli
# et al., arXiv:2103.10697, abstract; Dosovitskiy et al., section 3.1
PIXEL_LAYERS = {
    "ViT": "flattened patches of 16 x 16 pixels, one matrix",
    "Swin": "flattened patches of 4 x 4 pixels, one matrix",
    "CvT": "an overlapping convolution in place of it, at every stage",
    "ConViT": "as ViT; its attention starts out local (gated, positional)",
}


def _before() -> Evidence:
    """Section 2 of the paper; the names are its own."""
    years = [int(name.split()[-1]) for name in BEFORE]
    hold(years == sorted(years) and years[-1] <= 2020, f"{years}")
    hold("2 x 2" in BEFORE["Cordonnier et al. 2020"], "patches came before")
    return {
        "earlier works that the paper names": fmt(len(BEFORE)),
        "source": "arXiv:2010.11929v2, section 2",
        "tokens of BERT": f"{BERT_TOKENS}, Devlin et al. 2019, appendix A.2",
    }


def _pixel_layers() -> Evidence:
    """A kernel as wide as its stride is the cut and one matrix; a wider one reads beyond the cut."""
    swin, vit = published("Swin-T"), published("ViT-B/16")
    hold(raw_dim(4, 3) == swin.raw_dim == 48, f"Swin reads {swin.raw_dim} values")
    hold(raw_dim(16, 3) == vit.raw_dim == 768, f"ViT reads {vit.raw_dim} values")
    rng = np.random.default_rng(26)
    picture = rng.integers(0, 256, (8, 12, 3))
    reached = {}
    for kernel in (4, 7):
        weight = rng.integers(1, 10, (5, kernel, kernel, 3))
        stem = stem_matrix(weight, 8, 12, 4)
        reached[kernel] = int((stem[0] != 0).sum())
        tokens = (stem @ picture.ravel()).reshape(6, 5)
        cut = patchify(picture, 4) @ weight[:, :4, :4].reshape(5, -1).T
        hold(
            (tokens == cut).all() == (kernel == 4),
            f"a kernel of {kernel} px, stride 4, and the cut",
        )
    hold(reached == {4: 48, 7: 147}, f"values in a token: {reached}")
    return {
        "values of a patch, Swin and ViT-B/16": fmt([swin.raw_dim, vit.raw_dim]),
        "values in a token at stride 4, kernels of 4 and 7 px": fmt([*reached.values()]),
        "source, Swin": "arXiv:2103.14030v2, section 3.1; 3.2 for its relative positions",
        "source, CvT and ConViT": "arXiv:2103.15808, section 3; arXiv:2103.10697, abstract",
    }


def _read_outs() -> Evidence:
    """The learning rates as printed, and that the exchange costs one token: all else is the same model."""
    first, *others = LEARNING_RATES["mean"]
    hold(LEARNING_RATES["class token"] == (first,), "the mean failed at the class token's rate")
    factor = Fraction(first) / Fraction(others[-1])
    hold(factor == Fraction(8, 3), f"the rates differ by a factor {factor}")
    token = published("ViT-B/16")
    mean = replace(token, class_token=False, read_out="mean", position_extra=0)
    lost = params(token).total - params(mean).total
    hold(lost == 2 * token.width, f"{lost} parameters fewer")
    return {
        "class token and mean": "work similarly well at learning rates of their own",
        "class token's rate over the mean's": fmt(factor),
        "parameters that the mean saves, ViT-B/16": fmt(lost),
        "source": "arXiv:2010.11929v2, appendix D.3 and figure 9",
    }


_record = partial(Claim, tier="published", chapter="02_vit_reference")

CLAIMS = (
    _record(
        id="V2.3",
        statement="Swin flattens its patches as ViT does; CvT replaces the cut, ConViT keeps it.",
        place="patch projection",
        assumptions=("the models as their papers describe them",),
        fails_when="one means an area of 16 pixels, which Swin keeps as 16 tokens",
        evidence=_pixel_layers,
    ),
    _record(
        id="V2.4",
        statement="Attention and Transformers worked on pictures before ViT, patches included.",
        place="connectivity",
        assumptions=("section 2 of the paper",),
        fails_when="first means first in classification at a large scale, with a plain Transformer",
        evidence=_before,
    ),
    _record(
        id="V2.5",
        statement="A ViT that reads out the mean works about as well as one with a class token.",
        place="optimiser",
        assumptions=("appendix D.3 of the paper", "a learning rate for each"),
        fails_when="both are trained with the learning rate of one of them",
        evidence=_read_outs,
    ),
)
