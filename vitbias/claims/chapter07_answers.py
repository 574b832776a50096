"""What chapter 7 finds of statements of the sources."""

from functools import partial

from vitbias.claims.record import Answer

__all__ = ["ANSWERS"]

_answer = partial(Answer, chapter="07_token_permutations")

ANSWERS = (
    _answer(
        id="RE.6",
        says="Attention follows a permutation of its rows, with scaled scores and a softmax of each row.",
        verdict="holds",
        finding="Proved for every number of tokens, with symbols for three, and in fractions; the scale "
        "of the scores plays no part.",
        settled_by=("R7.1", "R7.2"),
    ),
    _answer(
        id="R7.8",
        says="To call positions an implementation detail hides that they decide what can be told apart.",
        verdict="interpretation",
        finding="The algebra behind it holds: without them arrangements are merged, with them not. How "
        "much that is worth is another question; ViT's table 8 reports 61.4 % without positions and "
        "64.2 % with a table (5-shot linear, B/16).",
        settled_by=("R7.6", "R7.7"),
    ),
    _answer(
        id="RE.1",
        says="71 assertions passed when the review's own code was run.",
        verdict="scope note",
        finding="The code is not in the text at hand, so the number cannot be run again here. The "
        "identities it names are executed in this book by code of its own.",
        settled_by=(),
    ),
    _answer(
        id="B2.11",
        says="Self-attention can learn by itself which patches are adjacent, alike or related.",
        verdict="needs an assumption",
        finding="Which patches look alike, contents tell. Which are adjacent, they do not: without a "
        "position signal every arrangement of the same patches gives the same answer. With ViT's "
        "table of positions, which the overview introduces as well, adjacency can be learned.",
        settled_by=("R7.6", "R7.7"),
    ),
    _answer(
        id="X28b",
        source="DeiT, section 3",
        says="A transformer block is invariant to the order of the patch tokens.",
        verdict="loose",
        finding="The block is equivariant: its output rows move along with the tokens. What is "
        "invariant is the class token's row, or a mean. The conclusion drawn there, that positions "
        "have to be added, stands.",
        settled_by=("T8", "R7.6"),
    ),
)
