"""Claims of chapter 10: fair comparison needs several budgets.

The tables quote published or recorded numbers; evidence compares counts with them and never passes a quoted
number off as one of its own.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations

from vitbias.budgets import match_width
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.conventions import CONVENTIONS, NORMS, operations, released_swin_operations, work
from vitbias.counts import macs, params, training_flops, vit_macs, vit_params
from vitbias.formatting import fmt
from vitbias.readers.catalogue import published
from vitbias.recordings.counters import expected, readings

__all__ = ["CLAIMS", "JFT_CLASSES", "JFT_IMAGES", "ONE_MODEL", "SWIN_TABLE_1", "TABLE_6"]

# Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929v2): table 6, pre-training on JFT-300M at 224 px: model,
# epochs, printed exaFLOPs; section 4.1: 303M images, 18k classes. Sun et al., ICCV 2017: 18,291 of them
TABLE_6 = (
    ("ViT-B/32", 7, 55),
    ("ViT-B/16", 7, 224),
    ("ViT-L/32", 7, 196),
    ("ViT-L/16", 7, 783),
    ("ViT-L/16", 14, 1567),
    ("ViT-H/14", 14, 4262),
)
# what flops() of microsoft/Swin-Transformer, models/swin_transformer.py, returns
RELEASED_SWIN = {
    "Swin-T": 4_494_405_120,
    "Swin-B": 15_438_473_216,
    "Swin-L": 34_487_049_216,
    "Swin-B@384": 47_105_253_376,
}
JFT_IMAGES = 303_000_000
JFT_CLASSES = 18_291

# Liu et al., ICCV 2021 (arXiv:2103.14030v2), table 1 (a): side [px], "FLOPs" [G], images per second (V100)
SWIN_TABLE_1 = {
    "RegNetY-4G": (224, "4.0", "1156.7"),
    "RegNetY-8G": (224, "8.0", "591.6"),
    "RegNetY-16G": (224, "16.0", "334.7"),
    "EffNet-B3": (300, "1.8", "732.1"),
    "EffNet-B4": (380, "4.2", "349.4"),
    "EffNet-B5": (456, "9.9", "169.1"),
    "EffNet-B6": (528, "19.0", "96.9"),
    "EffNet-B7": (600, "37.0", "55.1"),
    "ViT-B/16@384": (384, "55.4", "85.9"),
    "ViT-L/16@384": (384, "190.7", "27.3"),
    "DeiT-S": (224, "4.6", "940.4"),
    "DeiT-B": (224, "17.5", "292.3"),
    "DeiT-B@384": (384, "55.4", "85.9"),
    "Swin-T": (224, "4.5", "755.2"),
    "Swin-S": (224, "8.7", "436.9"),
    "Swin-B": (224, "15.4", "278.1"),
    "Swin-B@384": (384, "47.0", "84.7"),
}

# releases of one architecture, ViT-B/16 at 224 px with 1,000 classes, by three libraries
ONE_MODEL = ("timm:vit_base_patch16_224", "torchvision:vit_b_16", "transformers:ViT-B/16")


def _listed(name: str, classes: int = 1000) -> tuple[int, int]:
    """Parameters and macs of a plain ViT from the list of its linear maps."""
    model = published(name)
    d, tokens = model.width, model.tokens
    maps = [(d, d)] * 4 + [(d, 4 * d), (4 * d, d)]
    weights = model.depth * sum(a * b for a, b in maps)
    biases = model.depth * sum(b for _, b in maps)
    norms = (2 * model.depth + 1) * 2 * d
    ends = model.raw_dim * d + d + d + tokens * d + d * classes + classes
    products = model.depth * sum(2 * d * tokens for _ in range(tokens))
    embedding = model.patches * model.raw_dim * d
    return weights + biases + norms + ends, tokens * weights + products + embedding + d * classes


def _macs_by_width(patches: int, raw: int) -> Callable[[int], int]:
    return lambda width: int(vit_macs(patches, raw, width, 12, 1000))


def _polynomials() -> Evidence:
    """Listed maps against the formulas; what depends on the patch side, by differences."""
    for name in ("ViT-Ti/16", "ViT-B/16", "ViT-B/32", "ViT-L/16", "ViT-H/14"):
        model = published(name)
        hold(_listed(name) == (params(model).total, macs(model).total), name)
    fine, coarse = published("ViT-B/16"), published("ViT-B/32")
    change = params(coarse).total - params(fine).total
    projection = (coarse.raw_dim - fine.raw_dim) * fine.width
    table = (fine.patches - coarse.patches) * fine.width
    hold(change == projection - table, f"{change} parameters")
    # a quadratic through three numbers of tokens gives the fourth
    at = [vit_macs(n, 1, 768, 12, 1000) for n in (10, 11, 12, 13)]
    hold(at[3] - 3 * at[2] + 3 * at[1] - at[0] == 0, "third difference in the tokens")
    return {
        "parameters of ViT-B/16": fmt(params(fine).total),
        "macs of ViT-B/16": fmt(macs(fine).total),
    }


def _one_budget() -> Evidence:
    """ViT-B/16 and B/32 at one width and at matched ones; no match of both among all that are tried."""
    (p_fine, m_fine), (p_coarse, m_coarse) = _listed("ViT-B/16"), _listed("ViT-B/32")
    hold(Fraction(p_coarse, p_fine) < Fraction(102, 100), "parameters within 2 %")
    hold(Fraction(m_fine, m_coarse) > Fraction(39, 10), "operations differ about fourfold")
    found = match_width(_macs_by_width(49, 3072), m_fine)
    hold(found.size == 1547, f"width {found.size}")
    more = Fraction(vit_params(49, 3072, found.size, 12, 1000), p_fine)
    hold(more > 4, f"parameters times {more}")
    for fine, coarse in combinations((8, 14, 16, 28, 32), 2):
        for width in range(64, 1025, 192):
            target = vit_macs((224 // fine) ** 2, 3 * fine**2, width, 12, 1000)
            few, raw = (224 // coarse) ** 2, 3 * coarse**2
            match = match_width(_macs_by_width(few, raw), target)
            table = (224 // fine) ** 2 * width - few * match.size
            own = vit_params((224 // fine) ** 2, 3 * fine**2, width, 12, 1000)
            other = vit_params(few, raw, match.size, 12, 1000)
            hold(match.size > width and other + table > own, f"{fine}, {coarse} px at {width}")
    return {
        "parameters, B/32 over B/16": fmt(float(Fraction(p_coarse, p_fine)), 5),
        "macs, B/16 over B/32": fmt(float(Fraction(m_fine, m_coarse)), 4),
        "pairs, B/16 over B/32": fmt(float(Fraction(197**2, 50**2)), 4),
        "width of a /32 with the macs of B/16": fmt(found.size),
        "its parameters over those of B/16": fmt(float(more), 4),
    }


def _equal_time() -> Evidence:
    """One hour at two speeds, in fractions: updates, exposure, and the batch that would match updates."""
    speeds = [Fraction(SWIN_TABLE_1[name][2]) for name in ("ViT-B/16@384", "EffNet-B7")]
    images = [3600 * speed for speed in speeds]
    updates = [int(seen // 1024) for seen in images]
    hold(updates == [301, 193], f"updates {updates}")
    batch = 1024 * speeds[1] / speeds[0]
    hold(images[1] / batch == images[0] / 1024 and images[0] != images[1], "exposure still differs")
    return {
        "updates of 1,024 pictures in an hour at 85.9 and 55.1 a second": fmt(updates),
        "pictures seen": fmt(images),
    }


def _conventions() -> Evidence:
    """Every recorded count from the model's work; a plain ViT's once more from its list of maps."""
    for reading in readings():
        found = expected(reading.counter, reading.architecture)
        hold(found == reading.count, f"{reading.counter}, {reading.release}: {found}")
    numbers = {r.count for r in readings() if r.release in ONE_MODEL}
    hold(len(numbers) == 17, f"{len(numbers)} numbers for one architecture")
    _, total = _listed("ViT-B/16")
    products, norms, activated = 12 * 2 * 197**2 * 768, 25 * 197 * 768, 12 * 197 * 3072
    biases = 196 * 768 + 12 * 197 * (4 * 768 + 3072 + 768) + 1000
    weights = 12 * 12 * 768**2
    by_hand = {
        2 * total,
        2 * (total - products),
        2 * (total - products - 12 * 197 * 4 * 768**2),
        total - products,
        2 * (total - products) + 5 * norms + activated + 196 * 768,
        total + 5 * norms,
        total - products + 5 * norms,
        total + biases,
        total - products + biases,
        total - products + biases + norms,
        total + biases + norms + 2 * activated + 12 * 12 * 197**2 + 12 * 197 * 768,
        total - products + 4 * norms,
        total - products - 12 * 197 * 4 * 768**2 + 4 * norms,
        196 * 769 * 768 + weights + 12 * 13 * 768 + 2 * 768 + 769 * 1000,
        196 * 769 * 768 + weights * 2 // 3 + 12 * 9 * 768 + 2 * 768 + 769 * 1000,
    }
    hold(by_hand < numbers, "fifteen of them from the list of maps")
    return {
        "readings": fmt(len(readings())),
        "models": fmt(len({r.release for r in readings()})),
        "numbers for one ViT-B/16": fmt(len(numbers)),
        "the smallest and the largest": f"{fmt(min(numbers))} and {fmt(max(numbers))}",
    }


def _released_formula() -> Evidence:
    """The released function of Swin against the conventions, and against padded windows at 256 px."""
    with_norms = CONVENTIONS["macs"].plus(1, NORMS)
    found = {}
    for name, printed in RELEASED_SWIN.items():
        model = published(name)
        last = model.layout[-1][0]
        written, meant = model.patches * last.width // 16, last.tokens * last.width
        own = released_swin_operations(model)
        hold(own == with_norms(work(model)) - meant + written == printed, f"{name}: {own}")
        found[f"{name}, the released function"] = fmt(own)
    larger = replace(published("Swin-T"), image_px=(256, 256), border="pad")
    padded, unpadded = operations(larger, "macs"), released_swin_operations(larger)
    hold((padded, unpadded) == (7_345_441_536, 5_870_008_320), f"{padded}, {unpadded}")
    hold(operations(larger, "macs and norms") > padded > unpadded, "padding is what it leaves out")
    return found | {
        "Swin-T at 256 px, macs with padded windows": fmt(padded),
        "Swin-T at 256 px, the released function": fmt(unpadded),
    }


def _throughput() -> Evidence:
    """Pairs of rows of one published table that do more operations and are faster."""
    rows = [(Fraction(g), Fraction(s), name) for name, (_, g, s) in SWIN_TABLE_1.items()]
    against = [
        (one[2], two[2])
        for one, two in combinations(rows, 2)
        if (one[0] - two[0]) * (one[1] - two[1]) > 0
    ]
    hold(("EffNet-B7", "ViT-B/16@384") in against, f"{against}")
    pairs = len(rows) * (len(rows) - 1) // 2
    return {"pairs of rows": fmt(pairs), "more operations and faster": fmt(len(against))}


def _training_compute() -> Evidence:
    """Table 6 of the ViT paper from listed maps: 6 operations a mac, 303M images, 18,291 classes."""
    found, off = {}, []
    for name, epochs, printed in TABLE_6:
        _, work = _listed(name, JFT_CLASSES)
        same = replace(published(name), classes=JFT_CLASSES)
        hold(macs(same).total == work, name)
        total = Fraction(training_flops(work, epochs * JFT_IMAGES), 10**18)
        found[f"{name}, {epochs} epochs; printed {printed}"] = fmt(float(total), 5)
        off.append(abs(total / printed - 1))
    hold(sum(gap < Fraction(2, 1000) for gap in off) == 5, "five rows within 0.2 %")
    hold(Fraction(2, 100) < off[0] < Fraction(3, 100), "B/32 between 2 and 3 % off")
    return found


_record = partial(Claim, place="patch projection", chapter="10_budgets")

CLAIMS = (
    _record(
        id="R10.1",
        statement="Two patch sides with equally many parameters differ in operations and pairs.",
        tier="exact",
        assumptions=(
            "one depth",
            "one picture",
            "plain ViT",
            "both budgets at once: no learned position table",
        ),
        fails_when="blocks are shared: then operations grow without parameters",
        evidence=_one_budget,
    ),
    _record(
        id="R10.2",
        statement="Equal time on one device gives two speeds different updates or batches.",
        tier="exact",
        place="optimiser",
        assumptions=("constant speeds that differ", "equal time"),
        fails_when="both process equally many pictures a second",
        evidence=_equal_time,
    ),
    _record(
        id="R10.3",
        statement="Six tools give one ViT-B/16 17 counts; what each counts explains all of them.",
        tier="counted",
        place="connectivity",
        assumptions=("recorded tools, versions and settings", "released code", "one picture"),
        fails_when="the code calls the same maps otherwise: then the same tool counts otherwise",
        evidence=_conventions,
    ),
    _record(
        id="R10.9",
        statement="Swin's released count leaves out padding and miswrites its last norm.",
        tier="counted",
        place="hierarchy",
        assumptions=("the released flops function", "one picture"),
        fails_when="windows divide every grid: then only the last norm's term is off",
        evidence=_released_formula,
    ),
    _record(
        id="R10.4",
        statement="In one published table the model with more operations can be the faster one.",
        tier="published",
        place="connectivity",
        assumptions=("Swin paper, arXiv version 2, table 1 (a)", "V100, as the paper measured"),
        fails_when="the table is read as a statement about other hardware or code",
        evidence=_throughput,
    ),
    _record(
        id="R10.8",
        statement="Five of six published training computes follow from exact counts within 0.2 %.",
        tier="counted",
        place="data",
        assumptions=(
            "6 operations a mac",
            "303 million images",
            "one linear map to 18,291 classes",
        ),
        fails_when="the class token is left out: then no row agrees to 0.2 %",
        evidence=_training_compute,
    ),
    _record(
        id="T16",
        statement="Patch side enters parameters by two small terms, operations by every token.",
        tier="exact",
        assumptions=("width and depth fixed", "plain ViT", "learned position table"),
        fails_when="the width changes with the patch side",
        evidence=_polynomials,
    ),
)
