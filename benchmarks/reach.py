"""Reach of the masks of Swin: lines, packed bits and dense masks, beside networkx, SciPy and NumPy.

Each peer computes the same thing on the same masks: after how many blocks every token of a 28 x 28 or 56 x 56
grid can depend on every other. networkx walks a layered graph from one corner alone, less than it has to do;
SciPy multiplies sparse matrices, NumPy dense ones in single precision. What is not installed is named and
left out; the environment of `make test-models` has networkx.
"""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
from timing import Row, best, report, turn_about

from vitbias.graphs import Partition, as_graphs, first_after
from vitbias.patterns import axial_mask, causal_mask, dilated_mask, local_mask, with_hubs
from vitbias.reach import depth, grid_depth
from vitbias.windows import attention_mask, window_graph

LARGE = """
from vitbias.reach import grid_depth
assert grid_depth(1024, 1024, 8, 4) == 255
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def by_numpy(masks: list[np.ndarray]) -> int:
    """Products of dense matrices in single precision: sums below 2²⁴ are exact."""
    reached, blocks = np.eye(len(masks[0]), dtype=np.float32), 0
    while not reached.all():
        reached = (masks[blocks % 2].astype(np.float32) @ reached > 0).astype(np.float32)
        blocks += 1
    return blocks


def by_scipy(masks: list[np.ndarray]) -> int:
    """Products of sparse matrices."""
    from scipy.sparse import csr_array, eye_array

    steps = [csr_array(mask.astype(np.float32)) for mask in masks]
    reached, blocks = csr_array(eye_array(len(masks[0]), dtype=np.float32)), 0
    while reached.nnz < len(masks[0]) ** 2:
        reached = steps[blocks % 2] @ reached
        reached.data[:] = 1
        blocks += 1
    return blocks


def by_networkx(masks: list[np.ndarray]) -> int:
    """Breadth first, from the first token alone, through copies of the tokens, one for each block."""
    import networkx

    tokens, graph = len(masks[0]), networkx.DiGraph()
    blocks, frontier = 0, {(0, 0)}
    while len(frontier) < tokens:
        queries, keys = np.nonzero(masks[blocks % 2])
        graph.add_edges_from(
            ((blocks, k), (blocks + 1, q))
            for k, q in zip(keys.tolist(), queries.tolist(), strict=True)
        )
        frontier = {after for node in frontier for after in graph.successors(node)}
        blocks += 1
    return blocks


def main() -> None:
    peers = {"NumPy, dense": by_numpy}
    for name, work in (("SciPy, sparse", by_scipy), ("networkx, one token", by_networkx)):
        module = name.partition(",")[0].lower()
        if find_spec(module) is None:
            print(f"{module} is not installed: left out")
        else:
            peers[name] = work
    rows = []
    for side, blocks in ((28, 7), (56, 15)):
        graphs = [window_graph(side, side, 7, cut) for cut in (0, 3)]
        masks = [attention_mask(side, side, 7, cut) for cut in (0, 3)]
        works = {
            "vitbias, lines": lambda side=side: grid_depth(side, side, 7, 3),
            "vitbias, partitions": lambda graphs=graphs: depth(graphs),
            "vitbias, dense masks": lambda masks=masks: depth(masks),
            **{name: lambda work=work, masks=masks: work(masks) for name, work in peers.items()},
        }
        for name, work in works.items():
            if work() != blocks:
                raise AssertionError(f"{name} counts other blocks")
        seconds = turn_about(works, 3)
        task = f"{side} x {side}, {blocks} blocks"
        rows += [
            Row(task, name, time, seconds["vitbias, partitions"]) for name, time in seconds.items()
        ]
    report("Depth of shifted windows, w = 7, s = 3; ratio to partitions", rows)

    rng, tokens = np.random.default_rng(6), 3136
    still = np.eye(tokens, dtype=bool)
    patterns = {
        "windows": Partition(np.arange(tokens) // 49),
        "axial": axial_mask(56, 56),
        "7 x 7 around each": local_mask(56, 56, 3),
        "dilated by 8": dilated_mask(56, 56, 8),
        "7 x 7 and two hubs": with_hubs(local_mask(56, 56, 3), 2),
        "causal": causal_mask(tokens),
        "random, 8 keys": (rng.random((tokens, tokens)) < 8 / tokens) | still,
        "random, half of all": (rng.random((tokens, tokens)) < 0.5) | still,
    }
    rows = []
    for name, mask in patterns.items():
        (graph,) = as_graphs("masks", [mask])
        seconds = best(lambda graph=graph: first_after(graph), 5)
        rows.append(Row(f"{name}, block 1", "vitbias", seconds, 0.025))
        packed = first_after(graph)
        for block in (2, 3):
            seconds = best(lambda graph=graph, packed=packed: graph.after(packed), 5)
            rows.append(Row(f"{name}, block {block}", "vitbias", seconds, 0.025))
            packed = graph.after(packed)
    report("One block of 56 x 56 tokens; ratio to 25 ms", rows)

    seconds = best(lambda: grid_depth(1024, 1024, 8, 4), 7)
    said = subprocess.run([sys.executable, "-c", LARGE], check=True, capture_output=True, text=True)
    report(
        "1,024 x 1,024 tokens, w = 8; ratio to 20 ms", [Row("255 blocks", "vitbias", seconds, 0.02)]
    )
    print(f"a process that does it, from its start: {int(said.stdout) / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
