"""Where does a vision-transformer pipeline put its inductive bias?

The modules stand on floors; a module imports from floors below its own, and on its own floor only
without cycles.

floor 0, ground (standard library)
    architecture  one immutable description of a pipeline
    errors        the one family of errors, and the checks of sizes and names that raise them
    formula       what lets one formula take integers and sympy symbols alike
    formatting    the one formatter for everything that is printed
floor 1, exact mathematics (numpy, einops; sympy and python-flint on demand)
    arrays           checks of arrays
    patches          pictures to patches and back
    rank             the rank of a matrix, with the evidence for it
    interface        null space and collisions of the patch projection
    lattice          integer null vectors, and pictures that collide in 8 bits
    twins            pictures in a box with exactly equal tokens, in rationals
    alphabets        when pictures of 8 bits must collide, by counting
    attention        softmax attention in floating point
    exact_attention  the same in rational arithmetic
    counts           parameters, multiply-accumulates and bytes of a model
    conventions      what counting tools count, and how their numbers convert
    budgets          the width or depth that meets a budget, the ledger of a run, what two ledgers license
    vit              a pre-norm vision transformer that returns every intermediate
    symmetry         permutations and equivariance defects
    orbits           how many free parameters a symmetry leaves
    gauge            weights that no output can tell apart
    distillation     losses and gradients of distillation, fusion of two heads
    automorphisms    the permutations that leave a matrix as it is
    positions        tables of positions and relative biases
    rotary           queries and keys that are turned by their places
    alignment        objects on the patch grid, and what a pixel shift changes
    resizing         a table of positions for another grid
    graphs           partitions, mergings and masks as graphs of one block, in packed bits
    windows          window attention: partition, shift, masks, counts of pairs
    patterns         axial, dilated, local and causal masks, and hub tokens
    reach            what a token can depend on after some blocks
    hierarchy        patch merging, the stages it makes, and reach across them
    stems            convolutional stems as interfaces, by frequency
    variance         what a projection loses of data, and what a linear read-out notices of it
    augmentation     data with their images under a group, orbit averages, twirls
    learning         linear learners in closed form, each with its preference in another place
floor 2, instruments
    readers       where a description comes from (published models), and released weights under our names
    photographs   the two photographs that the book works on
    recordings    arrays that released code computed, with its versions
floor 3, assemblies
    claims        one record for each statement that the book proves
floor 4, faces
    cards         a claim as text
    figures       one style, and ``show``

Submodules load when first used: ``import vitbias`` itself imports nothing but this file.
"""

from importlib import import_module

__version__ = "0.4.0"

__all__ = [
    "alignment",
    "alphabets",
    "architecture",
    "arrays",
    "attention",
    "augmentation",
    "automorphisms",
    "budgets",
    "cards",
    "claims",
    "conventions",
    "counts",
    "distillation",
    "errors",
    "exact_attention",
    "figures",
    "formatting",
    "formula",
    "gauge",
    "graphs",
    "hierarchy",
    "interface",
    "lattice",
    "learning",
    "orbits",
    "patches",
    "patterns",
    "photographs",
    "positions",
    "rank",
    "reach",
    "readers",
    "recordings",
    "resizing",
    "rotary",
    "stems",
    "symmetry",
    "twins",
    "variance",
    "vit",
    "windows",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        return import_module(f"vitbias.{name}")
    raise AttributeError(f"module 'vitbias' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
