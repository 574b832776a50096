"""One record for each statement that a chapter proves, and the functions that execute them.

>>> from vitbias.claims import claim, verify
>>> claim("R5.2").tier
'exact'
>>> verify("RE.2")["token"]
'[1, 2]'

A record says what is claimed, of which kind the evidence is, under which assumptions, when it fails, and
where the book derives it. Its evidence function runs the claim again and returns what it found; it raises
when the claim does not hold.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from vitbias.claims.record import TIERS, Claim, Evidence
from vitbias.errors import require_choice

__all__ = ["CLAIMS", "TIERS", "Claim", "Evidence", "claim", "verify"]


def __getattr__(name: str) -> Any:
    # loaded when first asked for: a chapter's records import whatever its claims are about
    if name == "CLAIMS":
        return _all_claims()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _all_claims() -> dict[str, Claim]:
    """Id to record, chapter by chapter; every module ``chapterNN`` of this package is one."""
    names = sorted(module.name for module in iter_modules(__path__))
    chapters = [import_module(f"{__name__}.{name}") for name in names if name.startswith("chapter")]
    return {record.id: record for chapter in chapters for record in chapter.CLAIMS}


def claim(claim_id: str) -> Claim:
    """The record with this id.

    Raises
    ------
    UnknownNameError : with the nearest known ids
    """
    known = _all_claims()
    return known[require_choice("claim", claim_id, known)]


def verify(claim_id: str) -> Evidence:
    """Run the claim's evidence function: what was found, name to printed value.

    Raises
    ------
    AssertionError : the claim does not hold
    UnknownNameError : no such id
    """
    return claim(claim_id).evidence()
