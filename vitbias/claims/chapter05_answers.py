"""What chapter 5 finds of statements of the review that are equations, captions or questions."""

from functools import partial

from vitbias.claims.record import Answer

__all__ = ["ANSWERS"]

_answer = partial(Answer, chapter="05_patch_interface")

ANSWERS = (
    _answer(
        id="RE.5",
        says="Equation 1: a linear map from D to d values without a bypass loses at least D - d dimensions.",
        verdict="holds",
        finding="It is rank and nullity, proved here for all sizes.",
        settled_by=("R5.2",),
    ),
    _answer(
        id="RE.8",
        says="Equation 4: at maximal rank a projection of 48 values loses 48 minus d of them, or none.",
        verdict="holds",
        finding="Formula and exact ranks agree for every width from 0 to 64.",
        settled_by=("R5.6",),
    ),
    _answer(
        id="RE.10",
        says="The second figure's caption claims the curve of 48 values and nothing of published ViTs.",
        verdict="holds",
        finding="The caption promises no more than the equation gives. The sizes of published models are a"
        " separate count.",
        settled_by=("R5.6", "R5.2"),
    ),
    _answer(
        id="R5.7",
        says="The executable example builds a collision and checks that the two embeddings are equal.",
        verdict="holds",
        finding="The recorded pair has equal tokens, and its difference lies in the null space.",
        settled_by=("R5.3", "RE.2"),
    ),
    _answer(
        id="R5.8",
        says="Rigour asks whether what a projection erases is irrelevant to the label or rare and decisive.",
        verdict="interpretation",
        finding="A question about data, rightly put. What would count as an answer is fixed here: it is given"
        " for a direction, not for a number of directions.",
        settled_by=("R5.5", "T5"),
    ),
    _answer(
        id="X26",
        source="the review",
        says="A linear patch embedding narrower than the patch necessarily merges patches.",
        verdict="scope note",
        finding="True over the reals, which is what the review's equation is about. On patches of 8 bits a"
        " narrow map can still keep all apart; there, a count decides.",
        settled_by=("R5.9", "T3"),
    ),
    _answer(
        id="X27",
        source="the review",
        says="The patch of 48 values is hypothetical, and no published model is said to compress.",
        verdict="scope note",
        finding="Right for ViT, of which the review speaks. 48 is also the raw patch of Swin, which does not"
        " compress; ViTs with patches of 32 pixels, DeiT-Ti and DeiT-S do.",
        settled_by=("R5.2", "R5.6"),
    ),
)
