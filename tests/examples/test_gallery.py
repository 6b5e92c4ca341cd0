"""Each example of examples/gallery: its gradient is that of finite differences, and its fit finds the truth."""

import importlib
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("scipy", reason="the examples fit with SciPy")

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "examples" / "gallery"


@pytest.fixture(scope="module")
def show():
    """The module that runs the examples."""
    sys.path.insert(0, str(ROOT))
    yield importlib.import_module("examples.gallery.show")
    sys.path.remove(str(ROOT))


NAMES = sorted(path.stem for path in GALLERY.glob("*.py") if path.stem not in ("show", "pictures"))


def test_gallery_lists_every_example(show):
    assert list(show.NAMES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_gradient_and_fit(show, name):
    result = show.examine(name, timing=False)
    assert result.difference <= show.MOST_DIFFERENCE
    assert result.hand_difference is None or result.hand_difference <= 1e-8
    assert result.miss <= result.tolerance
    assert result.loss_after < result.loss_before
    assert result.right


@pytest.mark.parametrize("name", NAMES)
def test_model_code_does_not_know_arraygrad(name):
    text = (GALLERY / f"{name}.py").read_text()
    assert "arraygrad" not in text
    imported = set(re.findall(r"^(?:import|from) (\w+)", text, flags=re.M))
    assert imported <= {"numpy", "scipy"}


def test_readme_lists_every_example():
    listed = re.findall(r"^\| \[(\w+)\]\(gallery/(\w+)\.py\)", (ROOT / "examples" / "README.md").read_text(), re.M)
    assert listed == [(name, name) for name in NAMES]


def test_show_prints_ratios(show, capsys):
    show.show("portfolio")
    out = capsys.readouterr().out
    assert out.startswith("Portfolio of least variance")
    assert out.count("ratio") == 2


def test_wrong_gradient_ends_with_1(show, monkeypatch, capsys):
    module = importlib.import_module("examples.gallery.portfolio")
    monkeypatch.setattr(module, "loss_and_gradient", lambda scores, covariance: (0.0, 2.0 * scores + 1.0))
    with pytest.raises(SystemExit) as stopped:
        show.show("portfolio")
    assert stopped.value.code == 1
    assert capsys.readouterr().err == "FAILED\n"
