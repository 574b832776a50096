"""Best of several runs, and the table that every benchmark prints.

A benchmark measures its peers in one process and quotes ratios: seconds of one machine say little on another.
With ``--json`` the rows come as JSON.
"""

import gc
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter

from vitbias.formatting import table

__all__ = ["Row", "best", "report", "turn_about"]


@dataclass(frozen=True)
class Row:
    """One measurement: what was done, by whom, the best time [s], and the time of the yardstick [s]."""

    task: str
    by: str
    seconds: float
    yardstick_seconds: float

    @property
    def ratio(self) -> float:
        """This time over the yardstick's."""
        return self.seconds / self.yardstick_seconds


def best(work: Callable[[], object], runs: int = 5) -> float:
    """The shortest of several runs [s], after one that warms up where there is more than one; without garbage
    collection."""
    if runs > 1:
        work()
    collecting = gc.isenabled()
    gc.disable()
    try:
        times = []
        for _ in range(runs):
            start = perf_counter()
            work()
            times.append(perf_counter() - start)
    finally:
        if collecting:
            gc.enable()
    return min(times)


def turn_about(works: Mapping[str, Callable[[], object]], rounds: int = 6) -> dict[str, float]:
    """The shortest run of each [s]; every round runs them all, so that a busy spell meets them all."""
    times = [{name: best(work, 1) for name, work in works.items()} for _ in range(rounds)]
    return {name: min(found[name] for found in times) for name in works}


def report(title: str, rows: Sequence[Row]) -> None:
    """The rows as a table, or as JSON where the command line asks for it."""
    if "--json" in sys.argv[1:]:
        found = [asdict(row) | {"ratio": row.ratio} for row in rows]
        print(json.dumps({"title": title, "rows": found}, indent=1))
        return
    print(title)
    cells = [[row.task, row.by, row.seconds * 1000, row.ratio] for row in rows]
    print(table(["task", "by", "best [ms]", "ratio"], cells, 3))
