"""What counting tools report for released models, and what each number counts.

Every reading is one integer that a tool printed for a model, on one picture. ``convention_of`` says what the
tool counted there: a weighted sum of the model's work, see ``vitbias.conventions``. What a tool recognises
depends on how the code calls it, so the convention is a matter of the library and the model's family too:

    fused      attention is one call, and a tool without a rule for it loses the products. timm's windowed
               models and CaiT's blocks over the heads write the two products out, so there nothing is lost
    unfused    every model writes them out
    CPU        run on a processor; else on meta tensors, which have shapes and no values
    gradients  recorded for a backward pass; without, torch's own attention module takes a path that its
               counter does not see
    calflops   a product written ``@`` is not seen, one written ``matmul`` is
    aten       ptflops on the dispatcher: a map with a bias adds one operation for each output, and where
               queries, keys and values are one call with zeros for the keys' bias, one for each of the zeros
    pytorch    ptflops on modules and patched functions. It has a rule of its own for torch's attention module
               and for timm's plain one. A map that is a function call is lost on a processor; on meta tensors
               it is counted, and a module with a bias is counted twice
    torchinfo  one operation for each learned number of a map or norm, however many tokens go through it; only
               the convolution is counted at every position. No convention of operations: ``expected`` has it

Readings: timm 1.0.31, torchvision beside each torch, transformers 5.24.0, random weights; torch 2.13.0 and
2.14.1, fvcore 0.1.5.post20221221, calflops 0.3.2, ptflops 0.7.5, torchinfo 1.8.0, thop 0.1.1.post2209072238.
"""

import csv
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from vitbias.architecture import Architecture
from vitbias.conventions import CONVENTIONS, NORMS, PRODUCTS, Convention, work
from vitbias.counts import params
from vitbias.errors import Literal, ValuesError, require_choice, require_instance
from vitbias.readers.catalogue import published
from vitbias.recordings import DATA

__all__ = ["COUNTERS", "READINGS", "Reading", "convention_of", "expected", "readings"]

# each counter, and what the tool calls its unit
COUNTERS = MappingProxyType(
    {
        **dict.fromkeys(("torch", "torch, CPU", "torch, gradients, CPU"), "flops"),
        **dict.fromkeys(("torch, unfused", "torch, unfused, CPU"), "flops"),
        **dict.fromkeys(("fvcore", "fvcore, unfused"), "flops"),
        **dict.fromkeys(("calflops macs", "calflops macs, unfused"), "macs"),
        "calflops flops": "flops",
        **dict.fromkeys(("ptflops aten", "ptflops aten, CPU"), "macs"),
        "ptflops aten, unfused, CPU": "macs",
        **dict.fromkeys(("ptflops pytorch", "ptflops pytorch, CPU"), "macs"),
        "ptflops pytorch, unfused, CPU": "macs",
        "torchinfo": "mult-adds",
        "thop": "macs",
    }
)
# transformers names checkpoints; these two hold the architectures of the papers
TRANSFORMERS = {"transformers:ViT-B/16": "ViT-B/16", "transformers:Swin-T": "Swin-T"}
READINGS = "counters.csv"
LIBRARIES = ("timm", "torchvision", "transformers")


@dataclass(frozen=True)
class Reading:
    """``count`` is what ``counter`` reports for ``release``, by library and name, beside this torch."""

    release: str
    counter: str
    count: int
    torch: str

    @property
    def architecture(self) -> Architecture:
        """The model that was counted; its name is that of the release."""
        own = TRANSFORMERS.get(self.release)
        return replace(published(own), name=self.release) if own else published(self.release)


@cache
def readings() -> tuple[Reading, ...]:
    """Every recorded number, model by model.

    >>> len(readings())
    334
    """
    lines = (DATA / READINGS).read_text(encoding="utf-8").splitlines()
    return tuple(
        Reading(row["release"], row["counter"], int(row["count"]), row["torch"])
        for row in csv.DictReader(lines)
    )


def expected(counter: str, architecture: Architecture) -> int:
    """What the counter reports for one picture of this release.

    >>> expected("fvcore, unfused", published("timm:vit_base_patch16_224"))
    17582740224

    Raises
    ------
    UnknownNameError : an unknown counter
    ValuesError : no ``Architecture``, or none of the three libraries
    """
    if counter == "torchinfo":
        return _held(*_library(architecture))
    return int(convention_of(counter, architecture)(work(architecture)))


def convention_of(counter: str, architecture: Architecture) -> Convention:
    """What the counter counts of this release.

    Raises
    ------
    UnknownNameError : an unknown counter
    ValuesError : no ``Architecture``, or none of the three libraries; torchinfo, which counts no operations
    """
    tool, *settings = require_choice("counter", counter, COUNTERS).split(", ")
    library, model = _library(architecture)
    lost = () if "unfused" in settings else _fused(model)
    on_meta = "CPU" not in settings
    if tool == "torch":
        unseen = () if on_meta else lost
        if library == "torchvision" and not _windowed(model) and "gradients" not in settings:
            unseen += ("queries", "outputs")
        return CONVENTIONS["flops"].without(*unseen)
    if tool == "fvcore":
        return CONVENTIONS["macs and norms"].without(*lost)
    if tool == "calflops macs":
        by_matmul = library == "torchvision" and _windowed(model)
        return CONVENTIONS["macs" if by_matmul else "macs without products"]
    if tool == "calflops flops":
        softmax = "flops, values and softmax without products"
        return CONVENTIONS[softmax if _windowed(model) else "flops and values without products"]
    if tool == "ptflops aten":
        zeros = model.name.startswith(("timm:beit", "timm:swinv2"))
        biases = CONVENTIONS["macs and biases" + (", zeros too" if zeros else "")]
        return biases.without(*(() if on_meta else lost))
    if tool == "thop":
        return _by_thop(library, model)
    if tool == "torchinfo":
        raise ValuesError("counter", expected="one that counts operations", got=counter)
    other = {"torchvision": _by_modules_of_torchvision, "transformers": _by_modules_alone}
    return other[library](model) if library in other else _by_modules_of_timm(model, on_meta)


def _library(architecture: Architecture) -> tuple[str, Architecture]:
    model = require_instance("architecture", architecture, Architecture)
    library, colon, _ = model.name.partition(":")
    if not colon or library not in LIBRARIES:
        wanted = "a release of timm, torchvision or transformers: code decides what a tool sees"
        raise ValuesError("architecture", expected=wanted, got=Literal(repr(model.name)))
    return library, model


def _windowed(model: Architecture) -> bool:
    return all(block.window is not None for block, _ in model.layout)


def _fused(model: Architecture) -> tuple[str, ...]:
    """The products that released code hands to one fused call."""
    if _windowed(model):
        return ()
    return ("class_products",) if model.talking_heads else PRODUCTS


def _held(library: str, model: Architecture) -> int:
    """torchinfo: the convolution at every position, all else once; torch's attention module not at all."""
    held = params(model)
    once = held.mlp + held.norms + held.merging + held.read_out
    if library != "torchvision":
        once += held.attention
    return int(model.patches * held.embedding + once)


def _by_thop(library: str, model: Architecture) -> Convention:
    """Modules by class: timm's own norm is none that it knows, a norm of torch weighs 4 a value."""
    counted = CONVENTIONS["macs without products"]
    if library == "timm":
        return counted
    if library == "torchvision":
        counted = counted.without("queries", "outputs")
    return counted.plus(4, NORMS)


def _by_modules_alone(model: Architecture) -> Convention:
    """ptflops where every map and norm is a module, and attention and activation are functions."""
    return CONVENTIONS["macs and biases without products"].plus(1, NORMS)


def _by_modules_of_torchvision(model: Architecture) -> Convention:
    """ptflops on a processor: a rule for torch's attention module, none for functions of windows."""
    counted = CONVENTIONS["macs and biases"].plus(1, ["softmaxed", *NORMS]).plus(2, ["activated"])
    if not _windowed(model):
        return counted.plus(1, ["scaled"])
    maps = ("queries", "query_biases", "outputs", "output_biases")
    return counted.without(*maps).plus(2, ["pooled"])


def _by_modules_of_timm(model: Architecture, on_meta: bool) -> Convention:
    """ptflops as it is set when nothing else is asked for."""
    family = model.name.removeprefix("timm:")
    counted = CONVENTIONS["macs and biases without products"].plus(2, ["activated"])
    if family.startswith("swin_"):
        counted = counted.plus(1, ["softmaxed", *NORMS])
    elif family.startswith("swinv2"):
        counted = counted.without("queries", "query_biases").plus(1, ["other_norms"])
    elif family.startswith("cait"):
        counted = counted.plus(1, ["talking_biases", *NORMS])
    elif family.startswith("beit"):
        counted = counted.without("queries", "query_biases")
    elif model.position not in ("rotary", "learned and rotary"):
        ruled = ("queries", "query_biases", "outputs", "output_biases")
        counted = counted.without(*ruled).plus(1, ["products", "softmaxed", "scaled"])
    if not on_meta:
        return counted
    biased = ["outputs", "mlp", "class_maps", "read_out"]
    if family.startswith("eva02"):
        # three modules: those of queries and values have a bias, each with as many macs as the output map;
        # and its activation is a module, with no function behind it that is patched
        biased += ["outputs", "outputs"]
        counted = counted.without("activated").plus(1, ["activated"])
    elif model.qkv_bias:
        biased += ["queries"]
    # the first map of an offset MLP: two inputs for each of its biased values
    return counted.plus(1, biased).plus(2, ["offset_biases"])
