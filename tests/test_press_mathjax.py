"""MathJax comes out of the locked package, whole and unchanged, or not at all."""

import re
from types import SimpleNamespace

import pytest
from sphinx.errors import ExtensionError

from press import mathjax


@pytest.fixture
def package(tmp_path):
    """A copy of what the installed package holds of MathJax."""
    folder = tmp_path / "package"
    for path in mathjax.digests():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes((mathjax.installed() / path).read_bytes())
    return folder


def test_the_list_holds_component_fonts_filter_and_licence():
    listed = mathjax.digests()
    assert {"LICENSE", mathjax.COMPONENT, "es5/ui/safe.js"} <= listed.keys()
    assert sum(path.endswith(".woff") for path in listed) == 23
    assert "es5/input/tex/extensions/boldsymbol.js" in listed
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in listed.values())


def test_the_installed_package_has_the_digests():
    mathjax.verify(mathjax.installed())


@pytest.mark.parametrize("path", ["LICENSE", mathjax.COMPONENT, "es5/ui/safe.js"])
def test_one_changed_byte_stops_the_build(package, path):
    content = bytearray((package / path).read_bytes())
    content[len(content) // 2] ^= 1
    (package / path).write_bytes(content)
    with pytest.raises(ExtensionError, match=f"{re.escape(path)} differs from its digest"):
        mathjax.verify(package)


def test_a_missing_file_stops_the_build(package):
    (package / "es5/ui/safe.js").unlink()
    with pytest.raises(ExtensionError, match=r"es5/ui/safe.js is missing"):
        mathjax.verify(package)


def test_a_missing_package_stops_the_build(monkeypatch):
    monkeypatch.setattr(mathjax, "find_spec", lambda name: None)
    with pytest.raises(ExtensionError, match=r"install requirements.lock"):
        mathjax.configure(SimpleNamespace(), SimpleNamespace())


def test_the_build_copies_what_is_listed_and_nothing_else(tmp_path, package):
    written = set(mathjax.copy(package, tmp_path / "site"))
    files = {path for path in (tmp_path / "site").rglob("*") if path.is_file()}
    assert files == written
    assert {path.relative_to(tmp_path / "site/mathjax").as_posix() for path in files} == set(
        mathjax.digests()
    )


def test_pages_load_the_copy():
    config = SimpleNamespace()
    mathjax.configure(SimpleNamespace(), config)
    assert config.mathjax_path == "../mathjax/es5/tex-chtml.js"
    assert config.mathjax3_config["loader"]["load"] == ["ui/safe"]


@pytest.mark.parametrize(
    ("failure", "kind", "copied"),
    [(None, "html", True), (ValueError("a page"), "html", False), (None, "latex", False)],
)
def test_only_a_finished_site_gets_the_copy(tmp_path, failure, kind, copied):
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format=kind))
    mathjax.finish(app, failure)
    assert (tmp_path / "mathjax").exists() == copied
