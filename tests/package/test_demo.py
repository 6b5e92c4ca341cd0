"""`python -m arraygrad demo` and the plain NumPy models it differentiates. Imports: pytest, NumPy, arraygrad."""

import ast
import importlib.util
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import arraygrad
from arraygrad.tools import command_line as cli
from arraygrad.tools import demo as _demo
from arraygrad.tools import demo_measure, demo_pictures

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in _demo.EXTRAS),
    reason="the libraries of the extra `demo` are not installed",
)

EXAMPLES = Path(__file__).parents[2] / "examples"
MODELS = ("digits_numpy", "cancer_numpy")
PNG = b"\x89PNG\r\n\x1a\n"


# ---- the models


def problem(name, seed=0):
    """A model with random parameters and a small random data set that suits it."""
    model = _demo.load_model(name)
    rng = np.random.default_rng(seed)
    params = {key: value + 0.1 * rng.normal(size=np.shape(value)) for key, value in model.init(rng).items()}
    width, classes = (64, 10) if name == "digits_numpy" else (30, 2)
    return model, params, rng.normal(size=(25, width)), rng.integers(classes, size=25)


@pytest.mark.parametrize("name", MODELS)
def test_model_imports_numpy_and_nothing_else(name):
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert imported == ["numpy"]
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))


@pytest.mark.parametrize("name", MODELS)
def test_hand_written_gradient_agrees_with_central_differences(name):
    model, params, X, y = problem(name)
    packing = _demo.Packing(params)
    value, gradient = model.loss_and_gradient(params, X, y)
    assert value == pytest.approx(model.loss(params, X, y), rel=1e-13)
    difference = demo_measure.against_differences(
        lambda vector: model.loss(packing.unpack(vector), X, y),
        packing.pack(params),
        packing.pack(gradient),
        np.random.default_rng(1),
        n_directions=8,
        n_coordinates=40,
    )
    assert difference < 1e-7


@pytest.mark.parametrize("name", MODELS)
def test_recorded_gradient_agrees_with_the_hand_written_one(name):
    model, params, X, y = problem(name)
    value, gradient = arraygrad.value_and_grad(model.loss)(params, X, y)
    expected_value, expected = model.loss_and_gradient(params, X, y)
    assert float(value) == pytest.approx(expected_value, rel=1e-13)
    assert gradient.keys() == expected.keys()
    for key in expected:
        np.testing.assert_allclose(gradient[key], expected[key], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", MODELS)
def test_recorded_gradient_of_float32_parameters_is_float32(name):
    model, params, X, y = problem(name)
    single = {key: np.asarray(value, dtype=np.float32) for key, value in params.items()}
    _, gradient = arraygrad.value_and_grad(model.loss)(single, X.astype(np.float32), y)
    assert {key: value.dtype for key, value in gradient.items()} == dict.fromkeys(params, np.float32)


def test_model_is_found_in_the_wheels_folder_first(monkeypatch, tmp_path):
    (tmp_path / "digits_numpy.py").write_text("ARCHITECTURE = 'shipped'\n")
    monkeypatch.setattr(_demo, "_EXAMPLES", (tmp_path, EXAMPLES))
    assert _demo.load_model("digits_numpy").ARCHITECTURE == "shipped"
    assert _demo.load_model("cancer_numpy").FEATURES == 30


def test_model_that_is_nowhere_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(_demo, "_EXAMPLES", (tmp_path,))
    with pytest.raises(_demo.CannotRun, match=r"digits_numpy\.py"):
        _demo.load_model("digits_numpy")


# ---- the whole run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The demo as a user runs it, with --quick: (completed process, folder of its pictures)."""
    place = tmp_path_factory.mktemp("demo")
    path = os.pathsep.join([str(Path(arraygrad.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-W", "error", "-m", "arraygrad", "demo", "--quick"]
    environment = {**os.environ, "PYTHONPATH": path}
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=place, env=environment, timeout=100
    )
    return result, place / "arraygrad-demo"


def test_demo_passes_its_own_checks(finished):
    result, _ = finished
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_demo_reaches_its_accuracy_and_prints_what_it_measured(finished):
    lines = [line.split() for line in finished[0].stdout.splitlines()]
    held_out = [float(line[-1]) for line in lines if line[:1] == ["accuracy"]]
    assert len(held_out) == 2
    assert min(held_out) >= 0.95
    differences = [float(line[1]) for line in lines if line[:1] == ["gradient"]]
    assert len(differences) == 2
    assert max(differences) < 1e-6
    assert sum(line[:1] == ["time"] for line in lines) == 3
    ratios = [float(line[line.index("ratio") + 1]) for line in lines if "ratio" in line]
    assert len(ratios) == 6  # the everyday call and backward(), for each
    assert min(ratios) > 0


def test_every_ratio_has_one_that_was_kept(finished):
    kept = [float(line.split()[-1]) for line in finished[0].stdout.splitlines() if ": ratio " in line]
    assert kept == list(_demo.KEPT.values())


def test_demo_shows_progress(finished):
    bars = finished[0].stderr
    assert bars.count("minimising: 100%") >= 2  # one bar a study, redrawn as often as tqdm likes
    assert "40/40" in bars


@pytest.mark.parametrize("name", ["loss.png", "digits-graph.png", "cancer-graph.png"])
def test_demo_writes_pictures_into_the_folder_it_names(finished, name):
    result, folder = finished
    assert f"Pictures in {folder.name}: " in result.stdout
    assert name in result.stdout
    assert (folder / name).read_bytes().startswith(PNG)
    assert (folder / name).stat().st_size > 10_000


@pytest.mark.parametrize("name", ["digits-graph.dot", "cancer-graph.dot"])
def test_demo_writes_the_graphs_as_dot_text(finished, name):
    text = (finished[1] / name).read_text(encoding="utf-8")
    assert text.startswith("digraph")
    assert "MatmulBackward" in text


# ---- failures


def test_wrong_gradient_fails_the_check(monkeypatch):
    right = arraygrad.value_and_grad

    def wrong(function):
        def differentiated(params, X, y):
            value, gradient = right(function)(params, X, y)
            return value, {**gradient, "b": gradient["b"] * 1.001}

        return differentiated

    monkeypatch.setattr(arraygrad, "value_and_grad", wrong)
    failures = _demo.run_study(_demo.cancer(quick=True), seed=0, quick=True)
    assert len(failures) == 2
    assert "central differences" in failures[0]
    assert "hand-written" in failures[1]


def test_low_accuracy_makes_the_exit_code_1(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(_demo, "LEAST_ACCURACY", 0.999)
    monkeypatch.setattr(_demo, "digits", _demo.cancer)  # the smaller study, twice
    assert cli.main(["demo", "--quick", "--out", str(tmp_path)]) == 1
    assert "FAILED: Breast cancer: held-out accuracy 0.9649 is below 0.999" in capsys.readouterr().err


def test_missing_extras_are_named_with_the_command_that_helps(monkeypatch, capsys):
    monkeypatch.setattr(_demo, "EXTRAS", {"numpy": "numpy", "not_there": "there-dist", "nor_there": "nor-dist"})
    assert cli.main(["demo"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "The demo needs there-dist, nor-dist, which are not installed: python -m pip install there-dist nor-dist\n"
    )


# ---- folders


def test_folder_without_a_name_is_a_fresh_one(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert [_demo.open_folder(None).name for _ in range(3)] == [
        "arraygrad-demo",
        "arraygrad-demo-2",
        "arraygrad-demo-3",
    ]


def test_named_folder_is_made_and_may_exist(tmp_path):
    named = tmp_path / "a" / "b"
    assert _demo.open_folder(str(named)) == named
    assert _demo.open_folder(str(named)).is_dir()


# ---- measuring


def differences_of(gradient, loss=lambda x: float(np.sum(x**3))):
    return demo_measure.against_differences(loss, np.arange(1.0, 6.0), gradient, np.random.default_rng(0), 3, 5)


def test_exact_gradient_passes_central_differences():
    assert differences_of(3 * np.arange(1.0, 6.0) ** 2) < 1e-7


@pytest.mark.parametrize("index", range(5))
def test_one_wrong_coordinate_shows_in_central_differences(index):
    gradient = 3 * np.arange(1.0, 6.0) ** 2
    gradient[index] *= 1.01
    assert differences_of(gradient) > 5e-4


def test_nan_in_a_gradient_shows_in_central_differences():
    assert np.isnan(differences_of(np.array([np.nan, 1.0, 1.0, 1.0, 1.0])))


def test_a_ratio_is_the_median_of_those_of_the_rounds(monkeypatch):
    clock = [0.0]

    def takes(seconds):
        def function():
            clock[0] += seconds

        return function

    monkeypatch.setattr(demo_measure.time, "thread_time", lambda: clock[0])
    hand, ratios = demo_measure.beside_hand({"a": takes(3.0), "b": takes(1.0)}, takes(2.0), rounds=5, sample=10.0)
    assert hand == 2.0
    assert {name: (r.seconds, r.median, r.low, r.high) for name, r in ratios.items()} == {
        "a": (3.0, 1.5, 1.5, 1.5),
        "b": (1.0, 0.5, 0.5, 0.5),
    }


def test_each_sample_calls_its_function_at_least_twice():
    calls = []
    demo_measure.beside_hand({"a": lambda: calls.append("a")}, lambda: calls.append("hand"), rounds=3, sample=0.0)
    assert calls.count("a") >= 7
    assert calls.count("hand") >= 7


# ---- the graph's layout


class Fake:
    """A node of a graph, as far as pictures care."""

    def __init__(self, *followers):
        self.next_functions = tuple((follower, 0) for follower in followers)

    def name(self):
        return "FakeBackward"


def tangle():
    """A result over a chain of five with shortcuts to its end, three leaves, and a constant (None)."""
    leaves = [Fake() for _ in range(3)]
    node = Fake(leaves[0], None)
    for number in range(5):
        node = Fake(leaves[number % 3], node)
    return Fake(node, leaves[2], leaves[2]), leaves


def test_layout_puts_every_node_below_those_that_point_to_it():
    root, leaves = tangle()
    layout = demo_pictures.lay_out(root, lambda node: 1.0)
    depth = {point: number for number, layer in enumerate(layout.layers) for point in layer}
    assert depth[root] == 0
    assert set(leaves) <= set(depth)
    assert len(layout.paths) == 14
    for points in layout.paths:
        assert [depth[point] for point in points] == list(range(depth[points[0]], depth[points[-1]] + 1))


def test_layout_keeps_boxes_of_a_layer_apart():
    root, _ = tangle()
    layout = demo_pictures.lay_out(root, lambda node: 1.5)
    for layer in layout.layers:
        for left, right in pairwise(layer):
            gap = layout.x[right] - layout.x[left] - (layout.width[left] + layout.width[right]) / 2
            assert gap >= demo_pictures.GAP - 1e-9


def test_layout_untangles_edges_that_need_not_cross():
    a, b = Fake(), Fake()
    root = Fake(Fake(b), Fake(a), Fake(b))
    layout = demo_pictures.lay_out(root, lambda node: 1.0)
    below = {upper: [] for layer in layout.layers for upper in layer}
    for points in layout.paths:
        for upper, lower in pairwise(points):
            below[upper].append(lower)
    assert demo_pictures.crossings(layout.layers, below) == 0


def test_graph_of_one_node_is_drawn(tmp_path):
    leaf = Fake()
    path = demo_pictures.draw_graph(leaf, {leaf: "x"}, "One", tmp_path / "one.png")
    assert path.read_bytes().startswith(PNG)


def test_deep_graph_is_walked_without_recursion():
    node = Fake()
    for _ in range(20_000):
        node = Fake(node)
    assert len(demo_pictures.downward(node)) == 20_001
