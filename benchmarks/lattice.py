"""How far lattice reduction reaches: pictures of 8 bits with equal integer tokens, at DeiT-Ti's ratio 4 : 1.

For each geometry the time of the reduction, the entries of the reduced basis, and what it is worth on the two
photographs: the share of the way to the target, and the mean change of a pixel value. The last size takes
most of a minute; ``--quick`` leaves it out.
"""

import sys
from time import perf_counter

import numpy as np

from vitbias.formatting import table
from vitbias.lattice import collide, kernel_lattice
from vitbias.patches import patchify
from vitbias.photographs import photograph
from vitbias.twins import rational_twins

# patch side [px], channels
GEOMETRIES = ((6, 3), (8, 3), (16, 1), (12, 3))


def main() -> None:
    rng = np.random.default_rng(1)
    colour = [64 + photograph(name).pixels.astype(int) // 2 for name in ("china", "flower")]
    grey = [picture.mean(axis=2, keepdims=True).astype(int) for picture in colour]
    rows = []
    for patch, channels in GEOMETRIES[: 3 if "--quick" in sys.argv[1:] else 4]:
        raw = patch * patch * channels
        weight = rng.integers(-127, 128, (raw // 4, raw))
        side = 224 // patch * patch
        pictures = [p[:side, :side] for p in (colour if channels == 3 else grey)]
        start = perf_counter()
        basis = abs(kernel_lattice(weight))
        seconds = perf_counter() - start
        pairs = collide(weight, *(patchify(p, patch) for p in pictures))
        found = (int(basis.max()), float(basis.mean()), float(pairs.reached.mean()))
        change = float(abs(pairs.second - pairs.first).mean())
        rows.append([f"{raw} -> {raw // 4}", seconds, *found, change])
    print("Reduced lattices of int8 projections, 4 : 1")
    header = ["geometry", "seconds", "largest", "mean entry", "share reached", "mean change"]
    print(table(header, rows, digits=3))
    for kind in (np.int8, np.float32):
        weight = (rng.normal(size=(192, 768)) * 32).astype(kind)
        start = perf_counter()
        twins = rational_twins(weight, *(patchify(p, 16) for p in colour))
        seconds = perf_counter() - start
        print(
            f"Rational twins 768 -> 192, {weight.dtype}, 196 patches: {seconds:.1f} s,",
            f"denominator of {twins.denominator.bit_length()} bits",
        )


if __name__ == "__main__":
    main()
