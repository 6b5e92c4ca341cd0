"""What the site is made of: kept tables behind the figures, titles of the gallery, code as wide as its column."""

import importlib
import sys

import pytest
from page_blocks import DOCS, ROOT, blocks, pages

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="docs/ is not beside the tests (an installed copy)")

PAGES = {str(page.relative_to(ROOT)): page for page in pages()}
WIDEST = 84
HISTORY = sorted((ROOT / "benchmarks" / "history").glob("*.txt"))


@pytest.fixture
def made(monkeypatch):
    """Imports a module of docs/, which needs docs/ and the repository's root on the path."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.syspath_prepend(str(DOCS))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("make_figures", "make_gallery", "examples"):
            del sys.modules[name]


@pytest.mark.parametrize("name", PAGES)
def test_code_is_not_wider_than_the_column(name):
    wide = []
    for block in blocks(PAGES[name]):
        if block.word in ("python", "pycon", "sh"):
            lines = block.body.splitlines()
            if block.word == "pycon":  # what is printed is as wide as it is
                lines = [line for line in lines if line.startswith((">>>", "..."))]
            wide += [line for line in lines if len(line) > WIDEST]
    assert name == "README.md" or wide == []


@pytest.mark.parametrize("path", HISTORY, ids=lambda path: path.stem)
def test_a_kept_table_is_read_with_its_notes(made, path):
    pytest.importorskip("matplotlib")
    table = made("make_figures").table(path)
    assert len(table.ratios) > 15
    assert all(0.05 < ratio < 50 for ratio in table.ratios.values())
    assert table.ratios["mlp-small"] > 0
    assert not {"import", "peak-memory", "workers"} & set(table.ratios)
    assert all(set(rows) <= set(table.ratios) for rows in table.peers.values())


def test_workloads_have_labels_in_words(made):
    pytest.importorskip("matplotlib")
    figures = made("make_figures")
    labels = [figures.in_words(name) for name in figures.kept()[-1].ratios]
    assert len(set(labels)) == len(labels)
    assert not [label for label in labels if label.endswith(("f32", "f64", "-10k", "-1m"))]


def test_examples_have_titles(made):
    pytest.importorskip("matplotlib")
    gallery = made("make_gallery")
    found = [gallery.title_and_text(name) for name in made("examples.gallery.pictures").NAMES]
    assert len(found) >= 14
    for title, text in found:
        assert 3 <= len(title) <= 48
        assert "Imports" not in title + text
        assert text.endswith(".")


def test_an_example_without_a_title_is_refused(made, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    gallery = made("make_gallery")
    (tmp_path / "nameless.py").write_text('"""Fits something to data. Imports: NumPy."""\n')
    monkeypatch.setattr(gallery, "GALLERY", tmp_path)
    with pytest.raises(ValueError, match="begins with 'Title: '"):
        gallery.title_and_text("nameless")


def test_scripts_of_the_gallery_stand_by_themselves(made):
    pytest.importorskip("matplotlib")
    gallery = made("make_gallery")
    for name in made("examples.gallery.pictures").NAMES:
        script = gallery.script(name)
        assert "examples" not in script
        assert "model." not in script
        assert [line for line in script.splitlines()[6:] if len(line) > WIDEST and not line.startswith("# ")] == []


def test_a_script_of_the_gallery_runs(made, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("scipy")
    script = made("make_gallery").script("ray_optics")  # has scales
    monkeypatch.chdir(tmp_path)
    exec(compile(script, "plot_ray_optics.py", "exec"), {"__name__": "__main__"})
    assert "equals central differences: True" in capsys.readouterr().out
