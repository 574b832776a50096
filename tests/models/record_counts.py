"""Write ``tests/data/library_counts.csv`` anew: what timm and torchvision build, counted by torch.

    .venv-models/bin/python tests/models/record_counts.py

Parameters are those of the module, made on the meta device. Multiply-accumulates are half of what torch's
counter reports of one picture's forward pass there, with attention that is not fused: it sees matrix products
and convolutions and nothing else. Nothing is downloaded and no array is made.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
from released import create_model, versions
from timm.layers import set_fused_attn
from torch.utils.flop_counter import FlopCounterMode

from vitbias.readers.library_names import library_models

COUNTS = Path(__file__).parents[1] / "data" / "library_counts.csv"
FIELDS = ("name", "params", "macs")


def counted(name: str) -> tuple[int, int]:
    """(parameters, multiply-accumulates) of timm:NAME or torchvision:NAME."""
    library, _, name = name.partition(":")
    set_fused_attn(False)
    with torch.device("meta"):
        if library == "timm":
            module = create_model(name)
            side = module.default_cfg["input_size"][-1]
        else:
            from torchvision.models import get_model

            module, side = get_model(name), 256 if "v2" in name else 224
        picture = torch.empty(1, 3, side, side)
    module.eval()
    # torch's fast path of multi-head attention is one operation that its counter does not know: gradients
    # keep it away
    with FlopCounterMode(display=False, depth=0) as counter:
        module(picture)
    total = counter.get_total_flops()
    assert total % 2 == 0, (name, total)
    return sum(parameter.numel() for parameter in module.parameters()), total // 2


def rows() -> Iterator[tuple[str, int, int]]:
    for name in sorted(library_models()):
        yield name, *counted(name)


if __name__ == "__main__":
    used = ", ".join(f"{k} {v}" for k, v in versions("torch", "timm", "torchvision").items())
    with COUNTS.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"# {used}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for row in rows():
            writer.writerow(row)
            print(*row, flush=True)
