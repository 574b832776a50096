"""What is left out of the built site, and what stays."""

import pytest

from press.trim import trim


@pytest.fixture
def site(tmp_path):
    files = {
        "_static/scripts/theme.js": b"run()\n//# sourceMappingURL=theme.js.map\n",
        "_static/scripts/theme.js.map": b"x" * 101,
        "_static/styles/theme.css": b"p{}\n/*# sourceMappingURL=theme.css.map*/",
        "_static/styles/own.css": b"a{color:red}",
        "_static/scripts/quotes.js": b"s='//# sourceMappingURL=a.map';\nt=s\n",
        "_static/locales/de/LC_MESSAGES/booktheme.mo": b"y" * 53,
        "notebooks/kept.map": b"z",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def test_maps_their_pointers_and_translations_go(site):
    before = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    saved = trim(site)
    kept = {p.relative_to(site).as_posix(): p.read_bytes() for p in site.rglob("*") if p.is_file()}
    assert kept == {
        "_static/scripts/theme.js": b"run()\n",
        "_static/styles/theme.css": b"p{}\n",
        "_static/styles/own.css": b"a{color:red}",
        "_static/scripts/quotes.js": b"s='//# sourceMappingURL=a.map';\nt=s\n",
        "notebooks/kept.map": b"z",
    }
    assert saved == before - sum(map(len, kept.values()))
    assert saved > 101 + 53


def test_a_second_run_finds_nothing(site):
    trim(site)
    assert trim(site) == 0
