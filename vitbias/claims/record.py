"""What is recorded of a claim."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from vitbias.errors import require_choice

__all__ = ["TIERS", "Claim", "Evidence", "hold"]

Evidence: TypeAlias = Mapping[str, str]

# the five kinds of evidence: mark on the page, letter in a terminal
TIERS = {
    "exact": ("◆", "X"),
    "counted": ("■", "C"),
    "measured": ("▲", "M"),
    "published": ("●", "P"),
    "open": ("○", "O"),
}


@dataclass(frozen=True)
class Claim:
    """One statement of the book.

    id : as in the ledger of the sources (R review, RE its executable record, T theorem)
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


def hold(condition: object, what: str) -> None:
    """Raise if a claim does not hold; unlike ``assert`` it also works under ``python -O``.

    Raises
    ------
    AssertionError
    """
    if not condition:
        raise AssertionError(what)
