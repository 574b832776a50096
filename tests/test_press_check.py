"""The static checks: a good page has no finding, and each fault is found by its name."""

import pytest

from press.check import check
from press.page import css_references, read_page

ALT = "A line that falls from forty-eight to nought, then stays there"
PAGE = f"""<!doctype html>
<html lang="en"><head>
<link rel="stylesheet" href="_static/page.css?v=1"><link rel="next" href="folder/other.html">
<script src="_static/page.js"></script><style>p {{ background: url("_static/dot.svg") }}</style>
</head><body id="top">
<div id="jb-print-docs-body"><div><h1>Title</h1></div></div>
<h1>Title</h1><p id="R5.2">text</p>
<img src="_static/dot.svg" alt="{ALT}"><img src="data:image/png;base64,AA==" alt="{ALT}">
<a href="#R5.2">here</a><a href="#">top</a><a href="folder/other.html#a%20part">there</a>
<a href="folder/">folder</a><a href="https://example.org/x#y">a paper</a>
<a href="mailto:a@example.org">post</a><p>BODY</p>
</body></html>"""
OTHER = '<html lang="en"><h1>Other</h1><p id="a part"></p><a href="../index.html">back</a></html>'


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    write(folder, "index.html", PAGE)
    write(folder, "folder/other.html", OTHER)
    write(folder, "folder/index.html", '<meta http-equiv="Refresh" content="0; url=other.html">')
    write(folder, "_static/page.css", "p { color: red }")
    write(folder, "_static/page.js", "")
    write(folder, "_static/dot.svg", "<svg xmlns='http://www.w3.org/2000/svg'><path/></svg>")
    # a template of the theme, no page
    write(folder, "_static/macros.html", '<img src="https://example.org/x.png">')
    return folder


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_a_good_site_has_no_finding(site, tmp_path):
    assert check(site, tmp_path / "repository") == []


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ('<script src="https://example.org/x.js"></script>', "loads from another host"),
        ('<script src="//example.org/x.js"></script>', "loads from another host"),
        ('<link rel="stylesheet" href="https://example.org/x.css">', "loads from another host"),
        ('<link rel="preconnect" href="https://example.org">', "loads from another host"),
        ('<iframe src="http://example.org"></iframe>', "loads from another host"),
        ('<form action="https://example.org"></form>', "loads from another host"),
        ('<object data="https://example.org/x"></object>', "loads from another host"),
        ('<p style="background:url(https://example.org/x)">', "loads from another host"),
        ('<style>@import "https://example.org/x.css";</style>', "loads from another host"),
        ('<svg><image xlink:href="https://example.org/x.png"/></svg>', "loads from another host"),
        (f'<img srcset="https://example.org/x 2x" alt="{ALT}">', "loads from another host"),
        ('<script src="_static/none.js"></script>', "loads a file that does not exist"),
        ('<script src="/_static/page.js"></script>', "loads a file that does not exist"),
        ('<a href="none.html">x</a>', "dead link: none.html"),
        ('<a href="/folder/other.html">x</a>', "dead link: /folder/other.html"),
        ('<a href="../../etc/passwd">x</a>', "dead link"),
        ('<a href="#none">x</a>', "dead anchor: #none"),
        ('<a href="folder/other.html#none">x</a>', "dead anchor: folder/other.html#none"),
        ('<a href="javascript:alert(1)">x</a>', "link that is neither local nor https"),
        ('<a href="file:///etc/passwd">x</a>', "link that is neither local nor https"),
        ('<p id="R5.2">again</p>', "id 'R5.2' stands 2 times"),
        ('<p id="equation-0a1b2c3d-rest">x</p>', "random id"),
        ("<h1>Second</h1>", "2 first-level headings"),
        ('<img src="_static/dot.svg">', "without alternative text"),
        ('<img src="_static/dot.svg" alt=" ">', "without alternative text"),
        ('<img src="_static/dot.svg" alt="a dot">', "alternative text of 5 characters"),
        (f'<img src="_static/dot.svg" alt="{"long " * 61}">', "alternative text of 305 characters"),
        (f'<img src="_static/dot.svg" alt="_images/{"a" * 64}.svg">', "is a file name"),
        ("see /home/reader/book", "path of this machine: /home/reader"),
        ("see /tmp/work", "path of this machine: /tmp/work"),
        (r"see C:\Users\reader", r"path of this machine: C:\Users\reader"),
    ],
)
def test_a_fault_in_a_page_is_found_once(site, tmp_path, body, finding):
    write(site, "index.html", PAGE.replace("BODY", body))
    (line,) = check(site, tmp_path / "repository")
    assert line.startswith("index.html: ")
    assert finding in line


@pytest.mark.parametrize(
    ("name", "text", "finding"),
    [
        ("_static/more.css", "@font-face { src: url(https://example.org/a.woff) }", "another host"),
        ("_static/more.css", "p { background: url(none.png) }", "does not exist"),
        ("_images/a.svg", "<svg><image href='https://example.org/a.png'/></svg>", "another host"),
        ("_images/a.svg", "<svg><script>1</script></svg>", "a drawing with a script"),
        ("_sources/a.md", "in /root/here", "path of this machine: /root/here"),
        ("a.html", "<html><h1>x</h1></html>", "no language"),
        ("a.html", "<html lang='en'></html>", "0 first-level headings"),
        (
            "a.html",
            '<meta http-equiv="refresh" content="0; url=none.html">',
            "dead link: none.html",
        ),
    ],
)
def test_a_fault_in_another_file_is_found_once(site, tmp_path, name, text, finding):
    write(site, name, text)
    (line,) = check(site, tmp_path / "repository")
    assert line.startswith(f"{name}: ")
    assert finding in line


def test_the_repository_is_not_named(site, tmp_path):
    write(site, "searchindex.js", "Search.setIndex('/srv/checkout/book')")
    assert check(site, tmp_path.joinpath("/srv/checkout")) == [
        "searchindex.js: path of this machine: /srv/checkout"
    ]


def test_a_site_without_a_first_page_is_no_site(tmp_path):
    assert check(tmp_path, tmp_path / "repository") == ["index.html: missing"]


def test_references_of_a_style_sheet():
    text = """@import 'a.css'; @import url( "b.css" ); p { background: url(c d.png) }
    q { background: url('data:image/svg+xml;utf8,<svg fill="none"/>') }"""
    found = css_references(text)
    assert found == ["a.css", "b.css", "c d.png", 'data:image/svg+xml;utf8,<svg fill="none"/>']


def test_the_title_for_the_printer_is_not_counted_but_the_next_one_is():
    page = read_page(
        '<div id="jb-print-docs-body"><div></div><h1>a</h1></div><div><h1>b</h1></div>'
    )
    assert page.headings == 1
