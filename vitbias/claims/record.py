"""What is recorded of a claim of the book, and of a statement of a source."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from vitbias.errors import require_choice

__all__ = ["SOURCES", "TIERS", "VERDICTS", "Answer", "Claim", "Evidence", "hold"]

Evidence: TypeAlias = Mapping[str, str]

# the five kinds of evidence: mark on the page, letter in a terminal
TIERS = {
    "exact": ("◆", "X"),
    "counted": ("■", "C"),
    "measured": ("▲", "M"),
    "published": ("●", "P"),
    "open": ("○", "O"),
}


# what the book says of a statement that stands in a source
VERDICTS = (
    "holds",
    "holds, sharpened",
    "needs an assumption",
    "loose",
    "wrong",
    "scope note",
    "interpretation",
)
# first letter of an id to the name of its source; X and its like name their source themselves
SOURCES = {"R": "review", "B": "overview", "L": "essay"}


@dataclass(frozen=True)
class Claim:
    """One statement of the book.

    id : as in the ledger of the sources (R review, RE its executable record, T theorem); V is the book's own
    statement : one sentence without symbols
    tier : a key of ``TIERS``
    place : where in the pipeline the bias sits
    assumptions : short tags
    fails_when : what has to be dropped for the claim to fail
    chapter : the notebook's stem; the claim's label there is its id
    evidence : executes the claim; returns what it found, raises when the claim does not hold
    """

    id: str
    statement: str
    tier: str
    place: str
    assumptions: tuple[str, ...]
    fails_when: str
    chapter: str
    evidence: Callable[[], Evidence]

    def __post_init__(self) -> None:
        require_choice("tier", self.tier, TIERS)

    @property
    def anchor(self) -> str:
        """Address inside the site."""
        return f"notebooks/{self.chapter}.html#{self.id}"


@dataclass(frozen=True)
class Answer:
    """What the book finds of one statement of a source.

    id : as in the ledger of the sources (R review, B overview, L essay, X correction)
    says : the statement, restated in our own words, one sentence
    verdict : one of ``VERDICTS``; what is only loose, or true of another scope, is not called wrong
    finding : what is right, and the charitable reading where there is one; one to three sentences
    settled_by : ids of the claims whose evidence executes or cites the finding
    chapter : the notebook's stem
    source : who says so; read off the id unless it is an X
    also : further ids that the same finding answers
    """

    id: str
    says: str
    verdict: str
    finding: str
    settled_by: tuple[str, ...]
    chapter: str
    source: str = ""
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_choice("verdict", self.verdict, VERDICTS)
        if not self.source:
            kind = require_choice("source of the id", self.id[:1], SOURCES)
            object.__setattr__(self, "source", f"the {SOURCES[kind]}")


def hold(condition: object, what: str) -> None:
    """Raise if a claim does not hold; unlike ``assert`` it also works under ``python -O``.

    Raises
    ------
    AssertionError
    """
    if not condition:
        raise AssertionError(what)
