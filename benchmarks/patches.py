"""The cut of 64 pictures of 224 px, beside a copy of the same memory, einops, plain NumPy and loops.

The yardstick of each row is ``numpy.copyto`` of the batch into memory that is already there; the cut
allocates its result, and for floats it also looks for NaN and infinity. A copy into fresh memory stands
beside it: less than that no cut can take that returns a new array.
"""

import numpy as np
from einops import rearrange
from timing import Row, report, turn_about

from vitbias.patches import patchify

SHAPE = (64, 224, 224, 3)


def plain(pictures: np.ndarray, patch: int) -> np.ndarray:
    """Two reshapes and a transposition."""
    count, height, width, channels = pictures.shape
    rows, columns = height // patch, width // patch
    apart = pictures.reshape(count, rows, patch, columns, patch, channels)
    return apart.transpose(0, 1, 3, 2, 4, 5).reshape(count, rows * columns, -1)


def by_einops(pictures: np.ndarray, patch: int) -> np.ndarray:
    """The same as one sentence."""
    cut = "b (r i) (c j) k -> b (r c) (i j k)"
    return rearrange(pictures, cut, i=patch, j=patch)


def loops(pictures: np.ndarray, patch: int) -> np.ndarray:
    """One slice for each patch."""
    _, height, width, _ = pictures.shape
    cells = [
        pictures[:, top : top + patch, left : left + patch].reshape(len(pictures), -1)
        for top in range(0, height, patch)
        for left in range(0, width, patch)
    ]
    return np.stack(cells, axis=1)


PEERS = {
    "vitbias": patchify,
    "einops": by_einops,
    "NumPy reshape": plain,
    "slices in loops": loops,
}


def layouts(pictures: np.ndarray) -> dict[str, np.ndarray]:
    """The same values, lying otherwise."""
    first = np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))
    wide = np.zeros((64, 230, 231, 3), pictures.dtype)
    wide[:, 3:227, 4:228] = pictures
    return {
        "channels first": first.transpose(0, 2, 3, 1),
        "Fortran order": np.asfortranarray(pictures),
        "a window of wider": wide[:, 3:227, 4:228],
        "mirrored": np.ascontiguousarray(pictures[:, :, ::-1])[:, :, ::-1],
    }


def main() -> None:
    values = np.random.default_rng(4).integers(0, 256, SHAPE)
    rows, others = [], []
    for kind in (np.uint8, np.float32, np.float64):
        pictures = values.astype(kind)
        there = np.empty_like(pictures)
        works = {
            "copy": lambda pictures=pictures, there=there: np.copyto(there, pictures),
            "copy, fresh memory": pictures.copy,
        }
        for patch in (8, 14, 16, 32):
            expected = plain(pictures, patch)
            for name, cut in PEERS.items():
                if not np.array_equal(cut(pictures, patch), expected):
                    raise AssertionError(f"{name} cuts otherwise")
            cuts = {
                name: lambda cut=cut, x=pictures, patch=patch: cut(x, patch)
                for name, cut in PEERS.items()
            }
            seconds = turn_about(works | cuts)
            copy = seconds.pop("copy")
            task = f"{np.dtype(kind)}, P = {patch}"
            rows += [Row(task, name, time, copy) for name, time in seconds.items()]
        lying = layouts(pictures)
        for name, same in lying.items():
            if not np.array_equal(patchify(same, 16), plain(pictures, 16)):
                raise AssertionError(f"{name} is cut otherwise")
        cuts = {name: lambda same=same: patchify(same, 16) for name, same in lying.items()}
        seconds = turn_about(works | cuts, 3)
        others += [
            Row(f"{np.dtype(kind)}, {name}", "vitbias", seconds[name], seconds["copy"])
            for name in lying
        ]
    report("64 pictures of 224 px, height x width x channels; ratio to a copy; one thread", rows)
    report("other layouts, P = 16; ratio to a copy, from one layout to the same", others)


if __name__ == "__main__":
    main()
