"""What chapter 2 finds of statements of the sources."""

from functools import partial

from vitbias.claims.record import Answer

__all__ = ["ANSWERS"]

_answer = partial(Answer, chapter="02_vit_reference")

ANSWERS = (
    _answer(
        id="B2.1",
        says="A picture of 224 pixels a side has 50,176 pixels, and as many tokens if each is one.",
        verdict="holds",
        finding="It is 224 squared.",
        settled_by=("R2.1",),
    ),
)
