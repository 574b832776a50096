"""Are the stored outputs those of today's code? Digests of what they came from, kept in one file.

The outputs of a notebook follow from its code cells, from the ``vitbias`` modules that these import,
followed through the modules' own imports, from the data files that those modules read, and from the
records of the claims that the cells name.
``notebooks/provenance.json`` holds the digests of the last execution; only ``make notebooks`` writes it.
"""

import ast
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from press.normal_form import Notebook, NotebookError, load, normalise, text

__all__ = [
    "Digests",
    "closure",
    "digests",
    "notebook_paths",
    "provenance_path",
    "read_provenance",
    "reasons",
    "stale",
]

Digests: TypeAlias = dict[str, Any]
PACKAGE = "vitbias"
# functions that take ids of claims or answers
CLAIM_READERS = {"answer", "answers", "claim", "claim_card", "verify"}


def notebook_paths(root: Path) -> dict[str, Path]:
    """Name (the file's stem) to path, for every notebook, in the order of the names."""
    return {path.stem: path for path in sorted((root / "notebooks").glob("*.ipynb"))}


def provenance_path(root: Path) -> Path:
    """The one file that holds the digests of all notebooks."""
    return root / "notebooks" / "provenance.json"


def read_provenance(root: Path) -> dict[str, Digests]:
    """Name of a notebook to the digests of its last execution; empty where there is no file yet.

    Raises
    ------
    NotebookError : the file is not a JSON object
    """
    path = provenance_path(root)
    try:
        entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise NotebookError(f"{path.name}: expected JSON in UTF-8, got an error: {error}") from None
    if not isinstance(entries, dict):
        raise NotebookError(f"{path.name}: expected a JSON object, got {type(entries).__name__}")
    return entries


def digests(nb: Notebook, root: Path) -> Digests:
    """SHA-256 of the notebook's code, of each library file behind it, and of its outputs.

    Raises
    ------
    NotebookError : a code cell or a module is not plain Python
    """
    code = [cell for cell in normalise(nb)["cells"] if cell["cell_type"] == "code"]
    sources = [text(cell["source"]) for cell in code]
    return {
        "code": _digest(sources),
        "library": {
            path.relative_to(root).as_posix(): sha256(path.read_bytes()).hexdigest()
            for path in closure(sources, root)
        },
        "outputs": _digest([[cell["execution_count"], cell["outputs"]] for cell in code]),
    }


def reasons(root: Path) -> dict[str, str]:
    """Name of each notebook that is not fresh to the reason; also entries without a notebook."""
    entries, paths = read_provenance(root), notebook_paths(root)
    found = {}
    for name, path in paths.items():
        try:
            reason = _difference(entries.get(name), digests(load(path), root))
        except NotebookError as error:
            reason = str(error)
        if reason:
            found[name] = reason
    for name in sorted(set(entries) - set(paths)):
        found[name] = "provenance.json has an entry, but there is no such notebook"
    return found


def stale(root: Path) -> list[str]:
    """One sentence for each notebook whose outputs are not those of today's code."""
    return [f"{name}: {reason}." for name, reason in reasons(root).items()]


def closure(sources: list[str], root: Path) -> list[Path]:
    """The files of ``vitbias`` that the sources import, directly or not, and the data they read.

    Imports inside functions count. The package's own lazy access does not: what it can load is
    followed only where a source names it. Records of claims are found by the id that a source names.
    """
    package = root / PACKAGE
    found: set[Path] = set()
    trees = [_parse(source) for source in sources]
    waiting = [module for tree in trees for module in _imported(tree, package)]
    waiting += _chapters_of_claims(trees, package)
    while waiting:
        module = waiting.pop()
        path = _module_path(module, package)
        if path is None or path in found:
            continue
        found.add(path)
        tree = _parse(path.read_text(encoding="utf-8"), path.name)
        waiting += _imported(tree, package, module)
        found.update(_data_files(tree, path.parent))
    return sorted(found)


def _difference(entry: Digests | None, now: Digests) -> str:
    if entry is None:
        return "it has not been executed by `make notebooks`"
    if entry.get("code") != now["code"]:
        return "its code has changed since it was executed"
    before, after = entry.get("library") or {}, now["library"]
    if changed := sorted(path for path in {*before, *after} if before.get(path) != after.get(path)):
        return f"{', '.join(changed)} changed since it was executed"
    if entry.get("outputs") != now["outputs"]:
        return "its outputs are not those of its last execution"
    return ""


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _parse(source: str, where: str = "a code cell") -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise NotebookError(
            f"{where} is not plain Python: {error.msg}, line {error.lineno}"
        ) from None


def _module_path(module: str, package: Path) -> Path | None:
    path = package.parent.joinpath(*module.split("."))
    if path.with_suffix(".py").is_file():
        return path.with_suffix(".py")
    return path / "__init__.py" if (path / "__init__.py").is_file() else None


def _imported(tree: ast.Module, package: Path, importer: str = "") -> Iterator[str]:
    """Dotted names that may be modules of the package, in a module named ``importer``."""
    aliases = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == PACKAGE:
                    yield from _with_parents(parts)
                    if len(parts) == 1 or not alias.asname:
                        aliases.add(alias.asname or PACKAGE)
        elif isinstance(node, ast.ImportFrom):
            parts = _origin(node, importer, package)
            if parts[:1] == [PACKAGE]:
                yield from _with_parents(parts)
                for alias in node.names:
                    if alias.name == "*" and len(parts) == 1:
                        yield from (f"{PACKAGE}.{path.stem}" for path in package.iterdir())
                    yield ".".join([*parts, alias.name])
    # `import vitbias` loads nothing; `vitbias.patches` then does
    for access in (node for node in ast.walk(tree) if isinstance(node, ast.Attribute)):
        if isinstance(access.value, ast.Name) and access.value.id in aliases:
            yield f"{PACKAGE}.{access.attr}"


def _origin(node: ast.ImportFrom, importer: str, package: Path) -> list[str]:
    """The parts of the module that a ``from`` import names, relative ones resolved."""
    named = node.module.split(".") if node.module else []
    if not node.level:
        return named
    base = importer.split(".")
    path = _module_path(importer, package) if importer else None
    own_package = path is not None and path.name == "__init__.py"
    return base[: len(base) - node.level + own_package] + named


def _chapters_of_claims(trees: list[ast.Module], package: Path) -> list[str]:
    """The modules ``vitbias.claims.chapterNN…`` whose records the cells name.

    ``claim_card("R5.2")`` names one. Whoever takes the records themselves names all of them.
    """
    nodes = [node for tree in trees for node in ast.walk(tree)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    asked = [call for call in calls if _last_name(call.func) in CLAIM_READERS]
    ids = {getattr(argument, "value", None) for call in asked for argument in call.args}
    takes_all = None in ids or any(_last_name(node) in ("ANSWERS", "CLAIMS") for node in nodes)
    chapters = sorted((package / "claims").glob("chapter*.py"))
    return [
        f"{PACKAGE}.claims.{path.stem}"
        for path in chapters
        if takes_all or ids & _constants(_parse(path.read_text(encoding="utf-8"), path.name))
    ]


def _last_name(node: ast.AST) -> str:
    """``c`` of the name ``c``, of ``a.b.c`` and of ``from a import c``; else empty."""
    return next((getattr(node, key) for key in ("id", "attr", "name") if hasattr(node, key)), "")


def _constants(tree: ast.Module) -> set[Any]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def _with_parents(parts: list[str]) -> Iterator[str]:
    for length in range(1, len(parts) + 1):
        yield ".".join(parts[:length])


def _data_files(tree: ast.Module, folder: Path) -> set[Path]:
    """Every file in the ``data`` folder beside a module that reads package resources from it."""
    nodes = list(ast.walk(tree))
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    if "data" not in _constants(tree) or "importlib.resources" not in modules:
        return set()
    return {path for path in (folder / "data").rglob("*") if path.is_file()}
