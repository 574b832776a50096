"""Sphinx extension: MathJax out of the installed django-static-mathjax, so that no page asks another host.

The list of files and their SHA-256 digests stands in ``mathjax.sha256`` (the format of ``sha256sum``):
the TeX-to-HTML component, its fonts, the TeX extensions that it loads when a formula uses one, the
``ui/safe`` filter and the licence. The digests are checked before the build, the files copied after it.
"""

import shutil
from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

__all__ = ["CONFIGURATION", "FOLDER", "copy", "digests", "installed", "setup", "verify"]

DIGESTS = Path(__file__).with_suffix(".sha256")
FOLDER = "mathjax"
COMPONENT = "es5/tex-chtml.js"
CONFIGURATION: dict[str, Any] = {
    # drops javascript: links, styles and ids from formulas
    "loader": {"load": ["ui/safe"]},
    # shows an undefined macro as red text, which no check sees; without it MathJax reports an error
    "tex": {"packages": {"[-]": ["noundefined"]}},
    # the menu offers renderers and speech that are not part of the site
    "options": {"enableMenu": False},
}


def digests() -> dict[str, str]:
    """Path inside the package's MathJax folder -> SHA-256, for every file of the site's MathJax."""
    lines = DIGESTS.read_text(encoding="utf-8").splitlines()
    return {path: digest for digest, path in (line.split("  ", 1) for line in lines)}


def installed() -> Path:
    """The folder of the installed package that holds MathJax.

    Raises
    ------
    ExtensionError : the package is not installed
    """
    spec = find_spec("mathjax")
    if spec is None or spec.origin is None:
        raise ExtensionError(
            "MathJax: the package django-static-mathjax is not installed; install requirements.lock"
        )
    return Path(spec.origin).parent / "static" / "mathjax"


def verify(source: Path) -> None:
    """Compare every file that the site takes from ``source`` with its digest.

    Raises
    ------
    ExtensionError : a file is missing or differs; the message names the first one
    """
    for path, digest in digests().items():
        file = source / path
        if not file.is_file():
            raise ExtensionError(f"MathJax: {path} is missing from django-static-mathjax")
        if sha256(file.read_bytes()).hexdigest() != digest:
            raise ExtensionError(f"MathJax: {path} differs from its digest in {DIGESTS.name}")


def copy(source: Path, site: Path) -> Iterator[Path]:
    """Copy the listed files from ``source`` into ``site``/mathjax; yields what was written."""
    for path in digests():
        target = site / FOLDER / path
        target.parent.mkdir(parents=True, exist_ok=True)
        yield Path(shutil.copyfile(source / path, target))


def configure(app: Sphinx, config: Config) -> None:
    verify(installed())
    config.mathjax_path = f"../{FOLDER}/{COMPONENT}"
    config.mathjax3_config = CONFIGURATION


def finish(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        for _ in copy(installed(), Path(app.outdir)):
            pass


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", configure)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
