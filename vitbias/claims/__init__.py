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

from vitbias.claims import chapter05, chapter07
from vitbias.claims.record import TIERS, Claim, Evidence
from vitbias.errors import require_choice

__all__ = ["CLAIMS", "TIERS", "Claim", "Evidence", "claim", "verify"]

CLAIMS: dict[str, Claim] = {
    record.id: record for chapter in (chapter05, chapter07) for record in chapter.CLAIMS
}


def claim(claim_id: str) -> Claim:
    """The record with this id.

    Raises
    ------
    UnknownNameError : with the nearest known ids
    """
    return CLAIMS[require_choice("claim", claim_id, CLAIMS)]


def verify(claim_id: str) -> Evidence:
    """Run the claim's evidence function: what was found, name to printed value.

    Raises
    ------
    AssertionError : the claim does not hold
    UnknownNameError : no such id
    """
    return claim(claim_id).evidence()
