"""Limits of time, each for the best of several runs; `make test` runs these last and alone.

Beside other tests the caches and the memory are shared, and the same work can take twice as long.
"""

import subprocess
import sys
from time import process_time

import numpy as np
import pytest

from vitbias.counts import macs, params
from vitbias.graphs import as_graphs, first_after
from vitbias.interface import null_vector
from vitbias.patches import patchify
from vitbias.patterns import axial_mask, local_mask
from vitbias.rank import certified_rank, integer_rows
from vitbias.reach import depth, grid_depth
from vitbias.readers import library_names
from vitbias.readers.catalogue import published
from vitbias.windows import window_graph

REFERENCE = 0.13  # NumPy's rank of 768 x 768 on the machine that the limits were set for [s]
STEADY = np.random.default_rng(3).normal(size=(768, 768))


def seconds(function, *arguments):
    start = process_time()
    function(*arguments)
    return process_time() - start


def within(limit, function, *arguments):
    """The best of 5 to 25 runs is within the limit [s], stretched where the machine is now a slower one."""
    times, yardstick = [], []
    for done in range(1, 26):
        times.append(seconds(function, *arguments))
        yardstick.append(seconds(np.linalg.matrix_rank, STEADY))
        allowed = limit * max(1, min(yardstick) / REFERENCE)
        if done >= 5 and min(times) <= allowed:
            return True
    raise AssertionError(f"{min(times):.3f} s, with {allowed:.3f} s allowed")


@pytest.mark.parametrize("kind", ["int8", "float32", "float64"])
def test_time_of_a_certificate(rng, kind):
    weight = (rng.normal(size=(768, 768)) * 32).astype(kind)
    assert certified_rank(weight).certificate == "modular"
    assert within(0.4, certified_rank, weight)


@pytest.mark.parametrize(("kind", "limit"), [("int8", 0.3), ("float32", 1.0)])
def test_time_of_one_null_vector(rng, kind, limit):
    weight = (rng.normal(size=(192, 768)) * 32).astype(kind)
    assert not (integer_rows(weight) @ null_vector(weight)).any()
    assert within(limit, null_vector, weight)


@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64])
def test_the_cut_takes_at_most_three_copies_of_memory(kind):
    """Checks included; turn about, and best against best, so that no slow copy helps.

    Both give a new array: what fresh memory costs is the system's, and changes from minute to minute.
    Processor time, since other processes take the clock's; more rounds where a neighbour takes the cache.
    """
    pictures = np.ones((64, 224, 224, 3), kind)
    copies, cuts = [], []
    for done in range(1, 41):
        for work, times in (
            (pictures.copy, copies),
            (lambda: patchify(pictures, 16), cuts),
        ):
            start = process_time()
            work()
            times.append(process_time() - start)
        if done >= 5 and min(cuts) <= 3 * min(copies):
            return
    raise AssertionError(f"{min(cuts) / min(copies):.2f} copies")


def test_time_of_counting():
    """One published model in 0.1 ms; the whole catalogue of libraries, built and counted, in 20 ms."""
    model = published("ViT-B/16")
    assert within(0.01, lambda: [(params(model), macs(model)) for _ in range(100)])

    def catalogue():
        library_names.library_models.cache_clear()
        return [(params(m), macs(m)) for m in library_names.library_models().values()]

    assert len(catalogue()) == 179
    assert within(0.02, catalogue)


def test_time_of_a_million_tokens():
    assert grid_depth(1024, 1024, 8, 4) == 255
    assert within(0.02, grid_depth, 1024, 1024, 8, 4)


@pytest.mark.skipif(
    sys.platform != "linux", reason="the most memory of a process is read from /proc"
)
def test_memory_of_a_million_tokens():
    script = """
from vitbias.reach import grid_depth
assert grid_depth(1024, 1024, 8, 4) == 255
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    said = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert int(said.stdout) * 1024 <= 60e6


def test_time_of_packed_partitions():
    steps = [window_graph(56, 56, 7, cut) for cut in (0, 3)]
    assert depth(steps) == 15
    assert within(0.02, depth, steps)


@pytest.mark.parametrize(
    "mask", [axial_mask(56, 56), local_mask(56, 56, 3)], ids=["axial", "local"]
)
def test_time_of_one_block_of_any_mask(mask):
    (graph,) = as_graphs("masks", [mask])
    assert within(0.025, graph.after, first_after(graph))
