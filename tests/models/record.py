"""Write the recordings of ``vitbias.recordings`` anew; needs the extra ``models``.

    .venv-models/bin/python tests/models/record.py [NAME …]

An entry of the index names the versions that computed it and the digest of
its file; the other entries stay.
"""

import io
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from released import CASES, Arrays, resizing_rectangular, run_case, versions

from vitbias.recordings import INDEX

DATA = Path(__file__).parents[2] / "vitbias" / "recordings" / "data"
LARGEST = 200_000

RECORDED: dict[str, tuple[Callable[[], Arrays], tuple[str, ...], str]] = {
    name: (
        partial(run_case, name),
        ("torch", case.package, "numpy"),
        "A small model with random weights, in float64 on a CPU: its state, one picture, its logits, and "
        "every intermediate by hooks. Made by tests/models/record.py.",
    )
    for name, case in CASES.items()
}
RECORDED["resizing rectangular"] = (
    resizing_rectangular,
    ("torch", "timm", "transformers", "numpy"),
    "Random tables of positions for other grids, with 0, 1, 2 and 5 prefix rows. Made by "
    "tests/models/record.py; tests/models/released.py says what each array is.",
)


def record(names: Sequence[str]) -> None:
    index = json.loads((DATA / INDEX).read_text()) if (DATA / INDEX).exists() else {}
    for name in names or RECORDED:
        make, packages, how = RECORDED[name]
        packed = io.BytesIO()
        np.savez_compressed(packed, **make())
        content = packed.getvalue()
        assert len(content) < LARGEST, (name, len(content))
        file = name.replace(" ", "_") + ".npz"
        (DATA / file).write_bytes(content)
        index[name] = {
            "file": file,
            "sha256": sha256(content).hexdigest(),
            "versions": versions(*packages),
            "how": how,
        }
        print(name, len(content), "bytes")
    text = json.dumps(dict(sorted(index.items())), indent=1)
    (DATA / INDEX).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    record(sys.argv[1:])
