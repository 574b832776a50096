"""One record for each statement that a chapter proves, and the functions that execute them.

>>> from vitbias.claims import claim, verify
>>> claim("R5.2").tier
'exact'
>>> verify("RE.2")["token"]
'[1, 2]'

A record says what is claimed, of which kind the evidence is, under which assumptions, when it fails, and
where the book derives it. Its evidence function runs the claim again and returns what it found; it raises
when the claim does not hold.

An answer says what the book finds of one statement of a source, and which claims settle it.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from vitbias.claims.record import TIERS, Answer, Claim, Evidence
from vitbias.errors import require_choice

__all__ = ["ANSWERS", "CLAIMS", "TIERS", "Answer", "Claim", "Evidence", "answer", "claim", "verify"]


def __getattr__(name: str) -> Any:
    # loaded when first asked for: a chapter's records import whatever its claims are about
    if name == "CLAIMS":
        return _all_claims()
    if name == "ANSWERS":
        return _all_answers()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _modules() -> tuple[ModuleType, ...]:
    """Every module of this package whose name starts with ``chapter``, in order."""
    names = sorted(module.name for module in iter_modules(__path__))
    return tuple(
        import_module(f"{__name__}.{name}") for name in names if name.startswith("chapter")
    )


@cache
def _all_claims() -> dict[str, Claim]:
    """Id to record, chapter by chapter."""
    return {record.id: record for module in _modules() for record in getattr(module, "CLAIMS", ())}


@cache
def _all_answers() -> dict[str, Answer]:
    """Id to answer, chapter by chapter."""
    return {given.id: given for module in _modules() for given in getattr(module, "ANSWERS", ())}


def claim(claim_id: str) -> Claim:
    """The record with this id.

    Raises
    ------
    UnknownNameError : with the nearest known ids
    """
    known = _all_claims()
    return known[require_choice("claim", claim_id, known)]


def answer(answer_id: str) -> Answer:
    """What the book finds of the statement with this id.

    Raises
    ------
    UnknownNameError : with the nearest known ids
    """
    known = _all_answers()
    return known[require_choice("answer", answer_id, known)]


def verify(claim_id: str) -> Evidence:
    """Run the claim's evidence function: what was found, name to printed value.

    Raises
    ------
    AssertionError : the claim does not hold
    UnknownNameError : no such id
    """
    return claim(claim_id).evidence()
