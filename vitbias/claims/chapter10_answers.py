"""What chapter 10 finds of statements of the review that are proposals and judgements."""

from functools import partial

from vitbias.claims.record import Answer

__all__ = ["ANSWERS"]

_answer = partial(Answer, chapter="10_budgets")

ANSWERS = (
    _answer(
        id="R10.5",
        says="An intervention in the architecture should keep splits and augmentation, or compare pipelines.",
        verdict="interpretation",
        finding="A proposal, and a sound one: both are lines of the budget that no count of the model holds.",
        settled_by=(),
    ),
    _answer(
        id="R10.6",
        says="A comparison of whole pipelines says which package works, not which mechanism caused the gain.",
        verdict="interpretation",
        finding="What the ledger licenses: a difference may come from every budget that does not match.",
        settled_by=("R10.1", "V10.3"),
    ),
    _answer(
        id="R10.7",
        says="This matters most where a package inherits information by distillation.",
        verdict="interpretation",
        finding="DeiT-B with its teacher spends 31 % more operations than without, and what the teacher has "
        "seen stands in no count.",
        settled_by=("V10.3",),
    ),
)
