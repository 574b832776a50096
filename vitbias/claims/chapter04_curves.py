"""Claims of chapter 4 about the essay's curves: levels on a common scale, and the growth of each."""

from fractions import Fraction
from functools import partial

from vitbias.claims.record import Claim, Evidence, hold
from vitbias.counts import block_macs, msa_macs
from vitbias.formatting import fmt
from vitbias.windows import global_pairs, padded_pairs, query_pairs, ragged_pairs

__all__ = ["CLAIMS", "levels"]

WIDTH = 768


def levels(side_px: int) -> dict[str, tuple[int, int]]:
    """Pairs at 224 px and at another side: patches of 16 and 32 globally, windows of 7 in three counts."""
    small, large = 224 // 16, side_px // 16
    return {
        "P = 16, global": (global_pairs(small**2), global_pairs(large**2)),
        "P = 32, global": (global_pairs(7**2), global_pairs((side_px // 32) ** 2)),
        "P = 16, windows, 49 N": (query_pairs(small, 7), query_pairs(large, 7)),
        "P = 16, windows, ragged": (ragged_pairs(small, 7), ragged_pairs(large, 7)),
        "P = 16, windows, padded": (padded_pairs(small, 7), padded_pairs(large, 7)),
    }


def _curves() -> Evidence:
    """Every curve on the essay's common scale and on its own; layer and block beside the quadratic term."""
    found, base = {}, 196**2
    wanted = {
        "P = 16, global": (Fraction(4096**2, base), Fraction(4096**2, base)),
        "P = 32, global": (Fraction(1024**2, base), Fraction(1024**2, 49**2)),
        "P = 16, windows, 49 N": (Fraction(49 * 4096, base), Fraction(4096, 196)),
        "P = 16, windows, ragged": (Fraction(442**2, base), Fraction(442**2, 98**2)),
        "P = 16, windows, padded": (Fraction(490**2, base), Fraction(490**2, 98**2)),
    }
    for name, (small, large) in levels(1024).items():
        level, growth = Fraction(large, base), Fraction(large, small)
        hold((level, growth) == wanted[name], f"{name}: {level}, {growth}")
        found[f"{name}: level, growth"] = fmt([float(level), float(growth)], 4)
    layer, block = (Fraction(f(4096, WIDTH), f(196, WIDTH)) for f in (msa_macs, block_macs))
    by_hand = [
        Fraction(4096 * (4 * WIDTH + 2 * 4096), 196 * (4 * WIDTH + 2 * 196)),
        Fraction(4096 * (12 * WIDTH + 2 * 4096), 196 * (12 * WIDTH + 2 * 196)),
    ]
    hold([layer, block] == by_hand, f"{layer}, {block}")
    return found | {"attention layer and block, growth": fmt([float(layer), float(block)], 3)}


_record = partial(Claim, chapter="04_swin_locality")

CLAIMS = (
    _record(
        id="V4.1",
        statement="Levels on one scale and growth of each curve are different numbers of one count.",
        tier="counted",
        place="patch projection",
        assumptions=(
            "224 to 1,024 px",
            "windows of 7 tokens",
            "quadratic term, layer or block named",
        ),
        fails_when="a level on a common scale is read as a curve's own growth",
        evidence=_curves,
    ),
)
