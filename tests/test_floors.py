"""Imports go down the floors that the docstring of ``vitbias`` names, never up, never in a circle."""

import ast
import re
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import vitbias

HOME = Path(vitbias.__file__).parent
FLOOR_LINE = re.compile(r"^floor (\d), ", re.MULTILINE)
ENTRY_LINE = re.compile(r"^    (\w+)  +\S", re.MULTILINE)
ON_DEMAND = {0: {"sympy"}, 1: {"sympy", "flint"}}
AT_ONCE = {0: set(), 1: {"numpy", "einops"}}


def floors(text):
    """Module to floor, as the docstring lists them."""
    pieces = FLOOR_LINE.split(text)[1:]
    numbers, bodies = pieces[::2], pieces[1::2]
    listed = [
        (name, int(number))
        for number, body in zip(numbers, bodies, strict=True)
        for name in ENTRY_LINE.findall(body)
    ]
    assert len(listed) == len(dict(listed)), "a module stands on two floors"
    return dict(listed)


FLOORS = floors(vitbias.__doc__)


def files():
    return [path for path in sorted(HOME.rglob("*.py")) if path != HOME / "__init__.py"]


def module_of(path):
    """The room of a file: claims/record.py belongs to claims."""
    return path.relative_to(HOME).with_suffix("").parts[0]


def names(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, "relative import"
    if node.module == "vitbias":
        return [f"vitbias.{alias.name}" for alias in node.names]
    return [node.module]


@cache
def imports(path):
    """(at once, on demand): names imported at module level and inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    late = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(node)
    }
    found = (set(), set())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in typing_only:
            found[node in late].update(names(node))
    return found


def test_the_docstring_lists_every_module_and_no_other():
    assert set(FLOORS) == {module_of(path) for path in files()}
    assert set(FLOORS) == set(vitbias.__all__)
    assert set(FLOORS.values()) == {0, 1, 2, 3, 4}


def test_the_reader_of_the_docstring_sees_what_is_missing():
    text = vitbias.__doc__.replace("    lattice  ", "    letters  ")
    assert set(FLOORS) - set(floors(text)) == {"lattice"}


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(HOME)))
def test_imports_go_down_or_stay(path):
    floor = FLOORS[module_of(path)]
    for name in set().union(*imports(path)):
        if name == "vitbias" or name.startswith("vitbias."):
            room = name.split(".")[1]
            if room == "__version__":
                continue
            assert FLOORS[room] <= floor, f"{path.name} on floor {floor} imports {room}"


def test_no_circle():
    graph = {}
    for path in files():
        rooms = {name.split(".")[1] for name in set().union(*imports(path)) if "vitbias." in name}
        graph.setdefault(module_of(path), set()).update(rooms - {module_of(path), "__version__"})
    assert [*TopologicalSorter(graph).static_order()]


@pytest.mark.parametrize(
    "path",
    [path for path in files() if FLOORS[module_of(path)] <= 1],
    ids=lambda path: path.stem,
)
def test_the_lower_floors_import_heavy_packages_on_demand_only(path):
    floor = FLOORS[module_of(path)]
    own = {*sys.stdlib_module_names, "vitbias"}
    at_once, on_demand = ({name.split(".")[0] for name in part} for part in imports(path))
    assert at_once - own <= AT_ONCE[floor]
    assert on_demand - own <= ON_DEMAND[floor]


def test_matplotlib_lives_in_figures_alone():
    users = {
        module_of(path)
        for path in files()
        if any(name.split(".")[0] == "matplotlib" for part in imports(path) for name in part)
    }
    assert users == {"figures"}
