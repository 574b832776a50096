"""Claims of chapter 6 about cost: bytes of score maps, a slide, and what a size locks."""

from dataclasses import replace
from functools import partial

from vitbias.architecture import plain_vit
from vitbias.claims.record import Claim, Evidence, hold
from vitbias.counts import attention_bytes, params, relative_table_params
from vitbias.formatting import fmt
from vitbias.readers.catalogue import published
from vitbias.windows import padded_pairs

__all__ = ["CLAIMS", "SLIDE_PX"]

SLIDE_PX = 100_000  # a slide of pathology, one side
WIDTH = 768


def _wall() -> Evidence:
    """Bytes of all score maps of ViT-B/16 at 2 bytes a value; and of one map of a slide."""
    maps = {n: attention_bytes(n, 12, 12, 2) for n in (197, 4096, 4097)}
    hold(list(maps.values()) == [11_176_992, 4_831_838_208, 4_834_197_792], f"{maps}")
    hold(maps[197] == sum(2 * 197 for _ in range(12 * 12 * 197)), "row by row")
    hold(not any(attention_bytes(n, 12, 12, 2) == 13_600_000 for n in range(1, 400)), "13.6 MB")
    grid = SLIDE_PX // 16
    one = attention_bytes(grid**2, 1, 1, 2)
    hold(one == 2 * 39_062_500**2, f"{one}")
    windows = 2 * padded_pairs(grid, 7)
    hold(windows == 2 * (893 * 7) ** 2 * 49, f"{windows}")
    return {
        "197 tokens [bytes]": fmt(maps[197]),
        "4,096 and 4,097 tokens [bytes]": fmt([maps[4096], maps[4097]]),
        "a slide of 100,000 px: tokens of 16 px": fmt(grid**2),
        "one map of it [bytes]": fmt(one),
        "the same in padded windows of 7 [bytes]": fmt(windows),
    }


def _locks() -> Evidence:
    """Which learned numbers change with patch, picture and window; all others stay."""
    parts = ("embedding", "position")
    start = params(plain_vit(224, 16, WIDTH, 12, 12, 1000))
    other = {
        "patch": params(plain_vit(224, 32, WIDTH, 12, 12, 1000)),
        "picture": params(plain_vit(384, 16, WIDTH, 12, 12, 1000)),
    }
    changes = {
        name: {part: getattr(found, part) - getattr(start, part) for part in vars(start)}
        for name, found in other.items()
    }
    hold(
        changes["patch"]
        == dict.fromkeys(vars(start), 0) | dict(zip(parts, (2304 * 768, -147 * 768), strict=True)),
        f"{changes['patch']}",
    )
    hold(changes["picture"] == dict.fromkeys(vars(start), 0) | {"position": 380 * 768}, "picture")
    swin = published("Swin-B")
    wide = replace(
        swin,
        image_px=(384, 384),
        stages=tuple(replace(stage, window=12, shift=6) for stage in swin.stages),
    )
    moved = params(wide).position - params(swin).position
    tables = sum(
        stage.depth
        * (relative_table_params(12, stage.heads) - relative_table_params(7, stage.heads))
        for stage in swin.stages
    )
    hold(params(wide).total - params(swin).total == moved == tables, f"{moved} and {tables}")
    return {
        "patch 16 to 32: projection and table": fmt([2304 * 768, -147 * 768]),
        "picture 224 to 384: table": fmt(380 * 768),
        "window 7 to 12 in Swin-B: offset tables": fmt(moved),
    }


_record = partial(Claim, chapter="06_patch_size")

CLAIMS = (
    _record(
        id="V6.1",
        statement="All score maps of a ViT-B with patches of 16 take 11,176,992 bytes at 224 px, if kept.",
        tier="counted",
        place="connectivity",
        assumptions=("2 bytes a value", "12 blocks of 12 heads", "class token counted"),
        fails_when="maps are computed in blocks and again for the backward pass: then none is kept",
        evidence=_wall,
    ),
    _record(
        id="V6.2",
        statement="Patch, picture and window size are locked into a few weights and into no others.",
        tier="exact",
        place="position",
        assumptions=(
            "plain ViT with a table",
            "Swin with tables of offsets",
            "width and depth fixed",
        ),
        fails_when="positions are computed and not learned: then picture and window lock nothing",
        evidence=_locks,
    ),
)
