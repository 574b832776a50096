"""The files that the pages link to under each figure, taken out of the stored outputs.

A re-execution compares and writes nothing: the kernel shows drawing and data, and ``make notebooks``
puts both into ``notebooks/figures/``.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile

from press.normal_form import Notebook, figures_of

__all__ = ["figure_files", "file_violations", "leftovers", "write_all"]


def figure_files(nb: Notebook) -> dict[str, bytes]:
    """File name to content, for every figure of the notebook."""
    files = {}
    for cell in nb["cells"]:
        for figure in figures_of(cell):
            files[f"{figure.name}.svg"] = figure.svg.encode()
            files[f"{figure.name}.csv"] = figure.csv.encode()
    return files


def leftovers(notebooks: Iterable[Notebook], folder: Path) -> list[Path]:
    """The files in ``folder`` that no notebook makes."""
    made = {name for nb in notebooks for name in figure_files(nb)}
    present = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in present if path.name not in made]


def file_violations(notebooks: Mapping[str, Notebook], folder: Path) -> list[str]:
    """One sentence for each file that is missing, differs from the stored output, or is left over."""
    found = []
    for name, nb in notebooks.items():
        for file, content in figure_files(nb).items():
            path = folder / file
            if not path.is_file():
                found.append(f"{name}: figures/{file} is missing.")
            elif path.read_bytes() != content:
                found.append(f"{name}: figures/{file} is not what the notebook's output holds.")
    for path in leftovers(notebooks.values(), folder):
        found.append(f"figures/{path.name}: no notebook makes this file.")
    return found


def write_all(files: Mapping[Path, bytes]) -> None:
    """Write every file, in order, or none: all contents are on the disk before the first is moved in.

    An interruption between two moves leaves whole files only.
    """
    staged: list[tuple[str, Path]] = []
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as temp:
                staged.append((temp.name, path))
                temp.write(content)
                temp.flush()
                os.fsync(temp.fileno())
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
            os.chmod(temp.name, mode)
        while staged:
            os.replace(*staged[0])
            staged.pop(0)
    finally:
        for name, _ in staged:
            Path(name).unlink(missing_ok=True)
