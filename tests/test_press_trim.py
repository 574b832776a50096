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
        "_static/styles/icons.css": b'src:url(../v/a.woff2) format("woff2"),'
        b'url(../v/a.ttf) format("truetype")}',
        "_static/v/a.ttf": b"t" * 211,
        "_static/v/a.woff2": b"w" * 31,
        "_static/v/named.ttf": b"n",
        "_static/styles/odd.css": b"src:url(../v/named.ttf)",
        "_images/0a1b.svg": b"<svg>1</svg>\n",
        "_images/alone.svg": b"<svg>2</svg>",
        "_downloads/77/fig-one.svg": b"<svg>1</svg>",
        "_downloads/78/fig-two.svg": b"<svg>3</svg>",
        "notebooks/one.html": b'<img src="../_images/0a1b.svg"> <img src="../_images/alone.svg">',
        "index.html": b'<img src="_images/0a1b.svg">',
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def test_what_goes_and_what_stays(site):
    before = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    saved = trim(site)
    kept = {p.relative_to(site).as_posix(): p.read_bytes() for p in site.rglob("*") if p.is_file()}
    assert kept == {
        "_static/scripts/theme.js": b"run()\n",
        "_static/styles/theme.css": b"p{}\n",
        "_static/styles/own.css": b"a{color:red}",
        "_static/scripts/quotes.js": b"s='//# sourceMappingURL=a.map';\nt=s\n",
        "notebooks/kept.map": b"z",
        "_static/styles/icons.css": b'src:url(../v/a.woff2) format("woff2")}',
        "_static/v/a.woff2": b"w" * 31,
        "_static/v/named.ttf": b"n",
        "_static/styles/odd.css": b"src:url(../v/named.ttf)",
        "_images/alone.svg": b"<svg>2</svg>",
        "_downloads/77/fig-one.svg": b"<svg>1</svg>",
        "_downloads/78/fig-two.svg": b"<svg>3</svg>",
        "notebooks/one.html": b'<img src="../_downloads/77/fig-one.svg"> '
        b'<img src="../_images/alone.svg">',
        "index.html": b'<img src="_downloads/77/fig-one.svg">',
    }
    assert saved == before - sum(map(len, kept.values()))
    assert saved > 101 + 53 + 211


def test_a_second_run_finds_nothing(site):
    trim(site)
    assert trim(site) == 0
