"""Links between pages lead to files and headings that exist; every page can be reached from the first.

Imports nothing of arraygrad. Sphinx checks the same, and more, when the site is built (`nox -s docs`).
"""

import re

import pytest
from page_blocks import DOCS, ROOT, pages

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="docs/ is not beside the tests (an installed copy)")

PAGES = {str(page.relative_to(ROOT)): page for page in pages()}
LINK = re.compile(r"\]\(([^)\s]+)\)")
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.M | re.S)


def text_of(page):
    """A page without its code."""
    return re.sub(r"^```.*?^```$|``.+?``|`[^`\n]+`(?!\])", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page):
    """The names that headings get, as GitHub and MyST make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#{1,4} (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", t).lower()).replace(" ", "-") for t in titles}


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    page = PAGES[name]
    for target in LINK.findall(text_of(page)):
        if target.startswith(("https://", "http://")) or "_made/" in target:
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name}: {target}"
        if anchor:
            assert anchor in anchors(there), f"{name}: {target}"
        if page.is_relative_to(DOCS) and there.suffix == ".md":  # the site has no other pages
            assert there.is_relative_to(DOCS), f"{name}: {target}"


def test_every_page_is_reached_from_the_first():
    reached, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page in reached or not page.exists():
            continue
        reached.add(page)
        for entries in TREE.findall(page.read_text(encoding="utf-8")):
            names = [line for line in entries.splitlines() if line and not line.startswith(":")]
            todo += [(page.parent / f"{name}.md").resolve() for name in names]
    assert sorted(set(PAGES.values()) - {ROOT / "README.md"}) == sorted(reached)
