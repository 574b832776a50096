"""Conventions of counting: what a tool counts of one picture's forward pass, and how its numbers convert.

Notation: T tokens of a block, A tokens that its attention runs on (A = T without padded windows), k keys of a
query, d width, rd hidden width of the MLP, h heads, L blocks.

A model's ``Work`` lists what there is to count, by kind: multiply-accumulates (macs) of each kind of map, and
values that are normalised, biased, activated, sent through a softmax, scaled or averaged. A ``Convention``
gives each kind a weight; a count under it is the weighted sum. Two conventions differ by the difference of
their weights, so a number of one converts into the other as soon as the model's work is known.

Counting tools sum over what they recognise. Which weights a tool and release has is a fact about that tool;
the names here say what is counted, and no tool.

Source: the review that this book accompanies, section 10, for the question; the released code of
microsoft/Swin-Transformer, models/swin_transformer.py, for ``released_swin_operations``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from vitbias.architecture import Architecture, Block
from vitbias.counts import OFFSET_WIDTH, macs, patch_macs
from vitbias.errors import (
    Literal,
    ValuesError,
    describe,
    require_choice,
    require_instance,
    require_size,
)

__all__ = [
    "CONVENTIONS",
    "Convention",
    "Work",
    "convert",
    "matching",
    "operations",
    "released_swin_operations",
    "work",
]


@dataclass(frozen=True)
class Work:
    """What one picture's forward pass holds, by kind.

    Multiply-accumulates:
    patches : of the patch projection; queries : of the maps to queries, keys and values in the stages;
    outputs : of attention's output maps there; products : of scores and weighted sums there;
    talking : of maps over the heads; offsets : of positions by an MLP of the offset; mlp; merging;
    class_maps, class_products : of class-attention blocks, MLP included; read_out : of what follows the last
    norm, the pooling's maps included; pool_products

    Values to which a bias is added, one for each output of a map that has one:
    patch_biases, query_biases, output_biases, talking_biases, offset_biases, mlp_biases, class_biases,
    read_out_biases; zero_biases : of keys whose bias is a constant zero beside those of queries and values

    Other values:
    block_norms : put out by norms of blocks; other_norms : by those of the embedding, between stages and
    behind the last; activated : by activations, also of the offset MLPs; softmaxed : weights of attention
    in the stages; scaled : of queries there; pooled : put into the mean of the tokens
    """

    patches: int
    queries: int
    outputs: int
    products: int
    talking: int
    offsets: int
    mlp: int
    merging: int
    class_maps: int
    class_products: int
    read_out: int
    pool_products: int
    patch_biases: int
    query_biases: int
    output_biases: int
    talking_biases: int
    offset_biases: int
    mlp_biases: int
    class_biases: int
    read_out_biases: int
    zero_biases: int
    block_norms: int
    other_norms: int
    activated: int
    softmaxed: int
    scaled: int
    pooled: int


KINDS = tuple(field.name for field in fields(Work))
MACS = KINDS[: KINDS.index("patch_biases")]
NORMS = ("block_norms", "other_norms")
PRODUCTS = tuple(kind for kind in MACS if kind.endswith("products"))
# biases that are learned; how a tool sees the maps over the heads is a matter of its own
BIASES = tuple(
    kind
    for kind in KINDS
    if kind.endswith("_biases") and kind not in ("zero_biases", "talking_biases")
)


@dataclass(frozen=True)
class Convention:
    """A weight for each kind of work; a kind that is not named has weight 0.

    Raises
    ------
    UnknownNameError : a kind that ``Work`` does not have
    GeometryError : a weight that is no integer >= 1
    ValuesError : no weights
    """

    weights: Mapping[str, int]

    def __post_init__(self) -> None:
        given = self.weights
        if not isinstance(given, Mapping):
            raise ValuesError("weights", expected="a mapping of kinds to weights", got=given)
        kept = {
            require_choice("kind", kind, KINDS): require_size(f"weight of {kind}", weight)
            for kind, weight in given.items()
        }
        if not kept:
            raise ValuesError("weights", expected="at least one kind with a weight", got=given)
        object.__setattr__(self, "weights", MappingProxyType(kept))

    def without(self, *kinds: str) -> "Convention":
        """The convention that leaves these kinds out.

        Raises
        ------
        UnknownNameError, ValuesError
        """
        left = {require_choice("kind", kind, KINDS) for kind in kinds}
        return Convention({k: w for k, w in self.weights.items() if k not in left})

    def plus(self, weight: int, kinds: Iterable[str]) -> "Convention":
        """The convention that counts these kinds ``weight`` times more."""
        more = dict(self.weights)
        for kind in kinds:
            more[kind] = more.get(kind, 0) + weight
        return Convention(more)

    def __call__(self, done: Work) -> Any:
        """The count of this work.

        Raises
        ------
        ValuesError : no ``Work``
        """
        require_instance("work", done, Work)
        return sum(weight * getattr(done, kind) for kind, weight in self.weights.items())


def _conventions() -> dict[str, Convention]:
    single = Convention(dict.fromkeys(MACS, 1))
    double = Convention(dict.fromkeys(MACS, 2))
    norms, biases = single.plus(5, NORMS), single.plus(1, BIASES)
    values = double.without(*PRODUCTS).plus(5, NORMS).plus(1, ["activated", "patch_biases"])
    return {
        "macs": single,
        "macs without products": single.without(*PRODUCTS),
        "flops": double,
        "flops without products": double.without(*PRODUCTS),
        "macs and norms": norms,
        "macs and norms without products": norms.without(*PRODUCTS),
        "macs and norms without class products": norms.without("class_products"),
        "macs and biases": biases,
        "macs and biases, zeros too": biases.plus(1, ["zero_biases"]),
        "macs and biases without products": biases.without(*PRODUCTS),
        "macs and biases without products, zeros too": biases.without(*PRODUCTS).plus(
            1, ["zero_biases"]
        ),
        "flops and values without products": values,
        "flops, values and softmax without products": values.plus(1, ["softmaxed"]),
    }


# norms weigh 5 a value; "values": 5 a normalised, 1 an activated value, 1 a bias of the patch projection
CONVENTIONS: Mapping[str, Convention] = MappingProxyType(_conventions())


def work(architecture: Architecture) -> Work:
    """What one picture's forward pass holds.

    The macs are those of ``counts.macs``, sorted by what tools tell apart; the other kinds count outputs:
    a norm of T tokens puts out T·d values, a map with biases adds one to each of its outputs.

    Raises
    ------
    ValuesError : no ``Architecture``
    """
    model = require_instance("architecture", architecture, Architecture)
    total, last = macs(model), model.stages[-1]
    d, end = last.width, model.layout[-1][0].tokens
    sums = dict.fromkeys(KINDS, 0)

    def add(times: int = 1, **more: int) -> None:
        for kind, value in more.items():
            sums[kind] += times * value

    add(
        patches=total.embedding,
        offsets=total.position,
        talking=total.talking,
        merging=total.merging,
    )
    add(patch_biases=model.patches * model.width * model.patch_bias)
    first = model.patches if model.patch_norm else model.layout[0][0].tokens
    add(other_norms=first * model.width * (model.patch_norm + model.embedding_norm))
    for number, (stage, (block, _)) in enumerate(zip(model.stages, model.layout, strict=True)):
        add(stage.depth, **_block_work(model, block))
        if number:
            add(other_norms=block.tokens * block.width * (1 if model.post_norm else 2))
    if model.read_out == "mean":
        add(pooled=(end - model.block_extra) * d)
    if model.class_blocks:
        add(model.class_blocks, **_class_work(model, end, d, last.hidden))
        end += 1
    if model.final_norm:
        add(other_norms=d if model.pooled_norm else end * d)
    if model.read_out == "attention pool":
        # a query, keys and values of all tokens, an output map; a norm and an MLP of one token
        add(pool_products=2 * end * d, other_norms=d, activated=last.hidden)
        add(read_out_biases=d + 2 * end * d + d + last.hidden + d)
    if model.classes is not None:
        heads = 2 if model.read_out == "class and distillation" else 1
        add(read_out_biases=heads * model.classes + (model.representation or 0))
    add(read_out=total.read_out)
    return Work(**sums)


def operations(architecture: Architecture, convention: str) -> int:
    """One picture's count under a named convention.

    >>> from vitbias.readers.catalogue import published
    >>> operations(published("ViT-B/16"), "macs and norms")
    17582740224

    Raises
    ------
    ValuesError : no ``Architecture``
    UnknownNameError : an unknown convention
    """
    known = CONVENTIONS[require_choice("convention", convention, CONVENTIONS)]
    return int(known(work(architecture)))


def convert(count: int, source: str, target: str, done: Work) -> int:
    """``count`` of the convention ``source`` in the convention ``target``, for a model with this work.

    count - source(work) + target(work), where the first difference has to be 0: a count that the source
    convention does not give of this work is somebody else's.

    >>> from vitbias.readers.catalogue import published
    >>> convert(35_127_656_448, "flops", "macs and norms", work(published("ViT-B/16")))
    17582740224

    Raises
    ------
    GeometryError : no size
    UnknownNameError : an unknown convention
    ValuesError : no ``Work``; a count that is not the work's, with the remainder
    """
    count = require_size("count", count)
    old = CONVENTIONS[require_choice("source", source, CONVENTIONS)](done)
    new = CONVENTIONS[require_choice("target", target, CONVENTIONS)](done)
    if count != old:
        expected = f"{describe(old)}, what {source!r} gives of this work"
        got = Literal(f"{describe(count)}, off by {describe(count - old)}")
        raise ValuesError("count", expected=expected, got=got)
    return int(new)


def matching(count: int, done: Work) -> tuple[str, ...]:
    """The conventions that give this count of this work; several where they agree on it, () where none does.

    Raises
    ------
    GeometryError : no size
    ValuesError : no ``Work``
    """
    count = require_size("count", count)
    return tuple(name for name, convention in CONVENTIONS.items() if convention(done) == count)


def released_swin_operations(architecture: Architecture) -> int:
    """What the ``flops`` method of the released Swin returns, in macs and norms of weight 1.

    Σ 2Td + 4Td² + 2Tw²d + 2Trd² over blocks, Td + 2Td² at a merging of T tokens of width d, the patch
    projection with its norm, the classifier. Three habits of it: windows are not padded; a value of a norm is
    one operation; the final norm is written T₀d/2^S, with T₀ patches and S stages, where T₀d/4^(S - 1) values
    are put out.

    Raises
    ------
    ValuesError : no ``Architecture``; one without windows in every stage, or with a class token
    """
    model = require_instance("architecture", architecture, Architecture)
    windowed = all(block.window is not None for block, _ in model.layout)
    if not windowed or model.extra_tokens or model.classes is None or not model.patch_norm:
        expected = (
            "a classifier with windows in every stage, a norm of the patches and no extra token"
        )
        raise ValuesError("architecture", expected=expected, got=Literal(model.name))
    total = patch_macs(model.patches, model.raw_dim, model.width) + model.patches * model.width
    before = 0
    for stage, (block, _) in zip(model.stages, model.layout, strict=True):
        tokens, d, keys = block.tokens, block.width, (block.window or 0) ** 2
        if before:
            total += before * d // 2 + tokens * 2 * d * d
        total += stage.depth * tokens * (2 * d + 4 * d * d + 2 * keys * d + 2 * block.hidden * d)
        before = tokens
    total += block.width * model.patches // 2 ** len(model.stages)
    return int(total + block.width * model.classes)


def _block_work(model: Architecture, block: Block) -> dict[str, int]:
    """One block of a stage."""
    tokens, d, hidden = block.tokens, block.width, block.hidden
    rows, keys = (
        (tokens, tokens)
        if block.window is None
        else (block.padded[0] * block.padded[1], block.window**2)
    )
    weights = block.heads * rows * keys
    maps = 3 if model.gated_mlp else 2
    biased = (2 + model.key_bias) * model.qkv_bias
    offsets = model.position == "continuous relative" and (2 * (block.window or 0) - 1) ** 2
    offset_values = OFFSET_WIDTH * offsets
    return {
        "queries": 3 * rows * d * d,
        "outputs": rows * d * d,
        "products": 2 * rows * keys * d,
        "mlp": maps * tokens * d * hidden,
        "query_biases": biased * rows * d,
        "zero_biases": rows * d * (model.qkv_bias and not model.key_bias),
        "output_biases": rows * d,
        "talking_biases": 2 * weights * model.talking_heads,
        "offset_biases": offset_values,
        "mlp_biases": tokens * ((maps - 1) * hidden + d),
        "block_norms": tokens * (2 * d + d * model.attention_norm + hidden * model.mlp_norm),
        "activated": tokens * hidden + offset_values,
        "softmaxed": weights,
        "scaled": rows * d,
    }


def _class_work(model: Architecture, patches: int, d: int, hidden: int) -> dict[str, int]:
    """One class-attention block: one query, keys and values of all tokens, an MLP of one token."""
    keys = patches + 1
    return {
        "class_maps": 2 * d * d + 2 * keys * d * d + 2 * d * hidden,
        "class_products": 2 * keys * d,
        "class_biases": model.qkv_bias * (d + (1 + model.key_bias) * keys * d) + d + hidden + d,
        "block_norms": keys * d + d,
        "activated": hidden,
    }
