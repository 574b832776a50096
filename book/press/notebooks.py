"""``make notebooks``: execute the notebooks in place, where their outputs are older than their code.

    python -m press.notebooks [--all] [--check] [NAME ...]

Each notebook runs in a kernel of its own. Notebook, figures and digests are written only when every
cell ran and every guard is satisfied; otherwise the previous files stay as they are. A notebook whose
outputs are fresh is only brought into normal form.

Exit code: 0 done, 1 a notebook failed (or, with --check, is stale), 2 unknown name, 130 interrupted.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from press.figure_files import figure_files, leftovers, write_all
from press.freshness import (
    Digests,
    digests,
    notebook_paths,
    provenance_path,
    read_provenance,
    reasons,
    stale,
)
from press.guards import clashes, violations
from press.kernels import execute
from press.normal_form import Notebook, NotebookError, dump, load, normalise
from vitbias.errors import UnknownNameError, require_choice

__all__ = ["main", "refresh"]

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m press.notebooks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="NAME", help="notebooks; without names, all")
    parser.add_argument("--all", action="store_true", help="execute fresh ones too")
    parser.add_argument("--check", action="store_true", help="only name those that are stale")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            return _check(root)
        known = notebook_paths(root)
        names = [require_choice("notebook", Path(name).stem, known) for name in options.names]
        return refresh(root, names, everything=options.all)
    except UnknownNameError as error:
        return _fail(str(error), 2)
    except NotebookError as error:
        return _fail(str(error), 1)
    except KeyboardInterrupt:
        return _fail("interrupted; nothing is half-written", 130)


def refresh(root: Path, names: Sequence[str] = (), *, everything: bool = False) -> int:
    """Bring the named notebooks (without names: all) up to date; 0, or 1 if one of them failed."""
    paths = notebook_paths(root)
    old = {name: load(path) for name, path in paths.items()}
    outdated = reasons(root)
    failed = False
    for name in dict.fromkeys(names) or paths:
        start = time.monotonic()
        try:
            if everything or name in outdated:
                new = execute(old[name], name, paths[name].parent, os.environ)
                done = "executed"
            else:
                new = normalise(old[name])
                done = "is fresh" if dump(new) == paths[name].read_text("utf-8") else "normalised"
            if faults := violations(new, name):
                raise NotebookError("\n".join(faults))
        except NotebookError as error:
            _fail(str(error), 1)
            failed = True
        else:
            _write(root, name, new)
            old[name] = new
            print(f"{name}: {done}, {time.monotonic() - start:.1f} s", flush=True)
    if not failed:  # a notebook that failed may only have lost its outputs
        _remove_what_nothing_makes(root, old)
    for line in clashes(old):
        _fail(line, 1)
        failed = True
    return int(failed)


def _write(root: Path, name: str, nb: Notebook) -> None:
    """Figures first and digests last, so that an interruption leaves a stale notebook, not a false one."""
    folder = root / "notebooks"
    files = {folder / "figures" / file: content for file, content in figure_files(nb).items()}
    files[folder / f"{name}.ipynb"] = dump(nb).encode()
    entries = {**read_provenance(root), name: digests(nb, root)}
    files[provenance_path(root)] = _provenance_text(entries)
    write_all({path: text for path, text in files.items() if not _holds(path, text)})


def _remove_what_nothing_makes(root: Path, notebooks: dict[str, Notebook]) -> None:
    for path in leftovers(notebooks.values(), root / "notebooks" / "figures"):
        if path.name.startswith("fig-"):
            path.unlink()
            print(f"figures/{path.name}: removed, no notebook makes it")
    entries = read_provenance(root)
    kept = {name: entry for name, entry in entries.items() if name in notebooks}
    if kept != entries:
        write_all({provenance_path(root): _provenance_text(kept)})


def _provenance_text(entries: dict[str, Digests]) -> bytes:
    return dump(entries).encode()


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def _check(root: Path) -> int:
    found = stale(root)
    for line in found:
        print(line)
    return int(bool(found))


def _fail(message: str, code: int) -> int:
    print(f"notebooks: error: {message}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
