"""Claims of chapter 10 about names and recipes: heads of one name, steps and exposure of a run."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from vitbias.claims.record import Claim, Evidence, hold
from vitbias.counts import head_params, macs, params
from vitbias.formatting import fmt
from vitbias.readers.catalogue import published

__all__ = ["CLAIMS", "DEIT_TABLE_5", "RECIPES", "SEVERAL", "Recipe"]

# one name in three places: the papers' model with the classes it was fine-tuned for, timm's, torchvision's
SEVERAL = {
    "ViT-B/16": ("ViT-B/16", "timm:vit_base_patch16_224", "torchvision:vit_b_16"),
    "ViT-L/32": ("ViT-L/32", "timm:vit_large_patch32_224", "torchvision:vit_l_32"),
    "ViT-H/14": ("ViT-H/14", "timm:vit_huge_patch14_224", "torchvision:vit_h_14"),
    "Swin-T": ("Swin-T", "timm:swin_tiny_patch4_window7_224", "torchvision:swin_t"),
    "Swin v2 T, window 8": ("timm:swinv2_tiny_window8_256", "torchvision:swin_v2_t"),
}

# Touvron et al., ICML 2021 (arXiv:2012.12877), table 5: training, ImageNet top-1 [%]; all at 384 px, and the
# printed speed of DeiT-B there, 85.9 pictures a second on one V100
DEIT_TABLE_5 = (
    ("DeiT-B@384", "300 epochs", "83.1"),
    ("DeiT-B distilled@384", "300 epochs, distilled", "84.5"),
    ("DeiT-B distilled@384", "1,000 epochs, distilled", "85.2"),
)


@dataclass(frozen=True)
class Recipe:
    """A published training run: model, pictures of one epoch, epochs, batch."""

    model: str
    images: int
    epochs: int
    batch: int
    source: str

    @property
    def steps(self) -> int:
        """epochs times the whole batches of one epoch; an unfinished batch is dropped."""
        return self.epochs * (self.images // self.batch)

    @property
    def tokens(self) -> int:
        """Tokens of the first blocks that were seen."""
        return self.steps * self.batch * published(self.model).tokens


RECIPES = (
    Recipe("ViT-B/16", 303_000_000, 7, 4096, "ViT, section 4.1 and table 6, JFT-300M"),
    Recipe("ViT-L/16", 303_000_000, 14, 4096, "ViT, section 4.1 and table 6, JFT-300M"),
    Recipe("DeiT-B", 1_281_167, 300, 1024, "DeiT, table 9"),
    Recipe("Swin-T", 1_281_167, 300, 1024, "Swin, section 4.1"),
)


def _names() -> Evidence:
    """Parameters of one name in three places, and what the differences are."""
    totals = {
        name: [params(published(entry)).total for entry in entries]
        for name, entries in SEVERAL.items()
    }
    hold(len(set(totals["ViT-B/16"])) == len(set(totals["Swin-T"])) == 1, "one model")
    huge, large = totals["ViT-H/14"], totals["ViT-L/32"]
    hold(huge[0] == huge[2] == huge[1] + head_params(1280, 1000), f"{huge}")
    hold(large[0] == large[2] == large[1] + head_params(1024, 1000), f"{large}")
    ours, theirs = totals["Swin v2 T, window 8"]
    keys = sum(
        stage.depth * stage.width for stage in published("timm:swinv2_tiny_window8_256").stages
    )
    hold(theirs - ours == keys == 4416, f"{ours} and {theirs}")
    work = {macs(published(name)).total for name in SEVERAL["Swin v2 T, window 8"]}
    hold(len(work) == 1, "equal macs")
    return {name: fmt(found) for name, found in totals.items()}


def _recipes() -> Evidence:
    """Steps and tokens of four published runs, batch by batch."""
    found = {}
    for recipe in RECIPES:
        batches = len(range(0, recipe.images - recipe.batch + 1, recipe.batch))
        hold(recipe.steps == recipe.epochs * batches, recipe.model)
        grid = published(recipe.model).tokens
        hold(recipe.tokens == recipe.epochs * batches * recipe.batch * grid, recipe.model)
        found[f"{recipe.model}, steps and tokens"] = fmt([recipe.steps, recipe.tokens])
    of = {recipe.model: recipe for recipe in RECIPES}
    hold(of["DeiT-B"].steps == of["Swin-T"].steps == 375_300, "equal steps")
    hold(
        of["Swin-T"].tokens == Fraction(3136, 197) * of["DeiT-B"].tokens, "tokens of the first grid"
    )
    return found


def _one_count() -> Evidence:
    """Three rows of DeiT's table 5: counts within 0.3 %, accuracies two points apart."""
    counts = [macs(published(name)).total for name, _, _ in DEIT_TABLE_5]
    hold(counts == [55_484_350_464, 55_591_342_080, 55_591_342_080], f"{counts}")
    hold(Fraction(counts[1], counts[0]) < Fraction(1002, 1000), "nearly one count")
    printed = [Fraction(top) for _, _, top in DEIT_TABLE_5]
    hold(printed[2] - printed[0] == Fraction(21, 10), f"{printed}")
    return {
        f"{name}, {how}": f"{fmt(count)} macs, printed {top} %"
        for (name, how, top), count in zip(DEIT_TABLE_5, counts, strict=True)
    }


_record = partial(Claim, chapter="10_budgets")

CLAIMS = (
    _record(
        id="V10.1",
        statement="One published name stands for models that differ by a head or by unused biases.",
        tier="counted",
        place="hierarchy",
        assumptions=("timm 1.0.31", "torchvision 0.28.0", "built without further arguments"),
        fails_when="the number of classes is given: then heads agree, and Swin v2's biases still differ",
        evidence=_names,
    ),
    _record(
        id="V10.2",
        statement="Four published recipes have the steps and token exposures that their sizes give.",
        tier="counted",
        place="data",
        assumptions=("unfinished batches are dropped", "tokens of the first blocks"),
        fails_when="tokens are compared between grids: one of Swin-T's is a sixteenth of ViT's in area",
        evidence=_recipes,
    ),
    _record(
        id="V10.3",
        statement="Three printed accuracies two points apart belong to counts that differ by 0.2 %.",
        tier="published",
        place="teacher",
        assumptions=("DeiT, table 5", "384 px"),
        fails_when="the count is read as a cause of the accuracy",
        evidence=_one_count,
    ),
)
