"""`python -m arraygrad demo`: two models written in plain NumPy, trained on real data with gradients from arraygrad.

May import: arraygrad's public names, `tools.demo_measure`, `tools.demo_pictures`; SciPy, scikit-learn,
threadpoolctl and tqdm inside functions.

The models are the files digits_numpy.py and cancer_numpy.py of the folder examples/. They know nothing of arraygrad. In
a source checkout the demo loads them from there; a wheel carries the same files as arraygrad/_examples/, put there by
the build, so that there is one source.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import arraygrad as ag
from arraygrad.tools.demo_measure import Ratio, against_differences, against_hand, beside_hand

# What a run must reach; below either the exit code is 1.
LEAST_ACCURACY = 0.95
# Central differences in float64 agree with an exact gradient to about 1e-8 here; a wrong term shows as 1e-3 or more.
MOST_DIFFERENCE = 1e-6
# Two orders of the same sums differ by some units of the last place.
MOST_HAND_DIFFERENCE = 1e-10

# What the ratios were on two cores of an AMD EPYC (Python 3.11, NumPy 2.4): (study, rows, way) -> ratio.
KEPT = {
    ("Digits", 32, "value_and_grad(loss)"): 1.64,
    ("Digits", 32, "backward()"): 1.03,
    ("Digits", 1437, "value_and_grad(loss)"): 1.13,
    ("Digits", 1437, "backward()"): 1.07,
    ("Breast cancer", 455, "value_and_grad(loss)"): 2.52,
    ("Breast cancer", 455, "backward()"): 1.50,
}

# Import name -> name of the distribution that provides it.
EXTRAS = {"sklearn": "scikit-learn", "scipy": "scipy", "matplotlib": "matplotlib", "tqdm": "tqdm"}

_EXAMPLES = (Path(__file__).parents[1] / "_examples", Path(__file__).resolve().parents[3] / "examples")


class CannotRun(RuntimeError):
    """The demo lacks something it needs; the message says what, and how to get it."""


@dataclass
class Study:
    """One data set with its model. X (n, features) float64, y (n,) integers; the held-out part has the same columns."""

    title: str
    data: str
    model: ModuleType
    X: np.ndarray
    y: np.ndarray
    X_held: np.ndarray
    y_held: np.ndarray
    iterations: int
    batches: tuple[int, ...] = ()
    losses: list[float] = field(default_factory=list)
    held_losses: list[float] = field(default_factory=list)


class Packing:
    """Turns a dict of arrays into one float64 vector and back, because SciPy minimises over vectors."""

    def __init__(self, params: dict[str, np.ndarray]):
        self.shapes = {name: np.shape(value) for name, value in params.items()}
        self.ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])

    def pack(self, params: dict[str, Any]) -> np.ndarray:
        """The vector (size,) of all entries, parameter after parameter."""
        return np.concatenate([np.ravel(params[name]) for name in self.shapes])

    def unpack(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """The dict again; its arrays are views of the vector."""
        pieces = np.split(vector, self.ends[:-1])
        return {name: piece.reshape(shape) for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)}


def run(out: str | None = None, seed: int = 0, quick: bool = False) -> int:
    """Runs the demo and prints what it finds; 0 if every check passed, 1 if not.

    `out` is the folder for the pictures (None: a fresh ./arraygrad-demo), `seed` decides the random start of the
    weights and the directions of the check, `quick` does fewer iterations and repetitions. Raises CannotRun when a
    library or a model file is missing.
    """
    require_extras()
    from threadpoolctl import threadpool_limits  # scikit-learn brings it

    from arraygrad.tools import demo_pictures as pictures

    folder = open_folder(out)
    print(f"arraygrad {ag.__version__}: gradients of plain NumPy code, by recording what it does")
    failures = []
    studies = [digits(quick), cancer(quick)]
    # One BLAS thread: for matrices of this size waking the others costs more, and varies more, than it gains.
    with threadpool_limits(limits=1, user_api="blas"):
        for study in studies:
            failures += run_study(study, seed, quick)

    written = [pictures.draw_losses(studies, folder / "loss.png")]
    for study in studies:
        written += picture_graph(study, seed, folder, pictures.draw_graph)
    print(f"\nPictures in {folder}: " + ", ".join(path.name for path in written))
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if failures else 0


def require_extras() -> None:
    """Raises CannotRun, with the command that helps, unless all libraries that the demo uses can be found."""
    missing = [distribution for name, distribution in EXTRAS.items() if importlib.util.find_spec(name) is None]
    if missing:
        names = ", ".join(missing)
        raise CannotRun(
            f"The demo needs {names}, which {'is' if len(missing) == 1 else 'are'} not installed: "
            f"python -m pip install {' '.join(missing)}"
        )


def load_model(name: str) -> ModuleType:
    """The module examples/<name>.py, from the wheel or the source checkout that this file belongs to."""
    for folder in _EXAMPLES:
        path = folder / f"{name}.py"
        if path.is_file():
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    places = " or ".join(str(folder) for folder in _EXAMPLES)
    raise CannotRun(
        f"The demo's model {name}.py is not in {places}: install arraygrad from a wheel or run from a clone"
    )


def digits(quick: bool) -> Study:
    """scikit-learn's 1797 handwritten digits, 8 x 8 pixels of 0..16 scaled to 0..1; a fifth is held out."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    data = f"{len(X)} images of 8 x 8 pixels, 10 classes"
    return Study("Digits", data, load_model("digits_numpy"), *split(X / 16.0, y), 40 if quick else 150, (32,))


def cancer(quick: bool) -> Study:
    """scikit-learn's breast-cancer table, 569 rows; columns standardised by the training part, a fifth is held out."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    data = f"{len(X)} rows of 30 measurements, 2 classes"
    X, y, X_held, y_held = split(X, y)
    mean, deviation = np.mean(X, axis=0), np.std(X, axis=0)
    X, X_held = (X - mean) / deviation, (X_held - mean) / deviation
    return Study("Breast cancer", data, load_model("cancer_numpy"), X, y, X_held, y_held, 20 if quick else 100)


def split(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y, X_held, y_held: always the same four fifths and one fifth, with equal shares of every class."""
    from sklearn.model_selection import train_test_split

    X, X_held, y, y_held = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    return X, y, X_held, y_held


def run_study(study: Study, seed: int, quick: bool) -> list[str]:
    """Trains, checks, times and prints one study; returns what failed, in words."""
    model = study.model
    rng = np.random.default_rng(seed)
    params = model.init(rng)
    packing = Packing(params)
    start = packing.pack(params)
    print(f"\n{study.title}: {study.data} ({len(study.X)} to train on, {len(study.X_held)} held out)")
    print(f"  model        {model.__name__}.py: {model.ARCHITECTURE}; {start.size} parameters")

    differentiated = ag.value_and_grad(model.loss)
    solution = minimise(study, packing, start, differentiated)
    trained = packing.unpack(solution)
    accuracy = float(np.mean(model.predict(trained, study.X) == study.y))
    held = float(np.mean(model.predict(trained, study.X_held) == study.y_held))
    print(f"  trained      {len(study.losses) - 1} iterations, loss {study.losses[0]:.4f} -> {study.losses[-1]:.4f}")
    print(f"  accuracy     training {accuracy:.4f}, held out {held:.4f}")

    def plain_loss(vector: np.ndarray) -> float:
        return float(model.loss(packing.unpack(vector), study.X, study.y))

    # At the start and half way to the solution: at the solution itself the gradient is nearly zero.
    differences, hand_differences = [], []
    n_directions, n_coordinates = (4, 8) if quick else (32, 64)
    for point in (start, 0.5 * (start + solution)):
        gradient = packing.pack(differentiated(packing.unpack(point), study.X, study.y)[1])
        by_hand = packing.pack(model.loss_and_gradient(packing.unpack(point), study.X, study.y)[1])
        differences.append(against_differences(plain_loss, point, gradient, rng, n_directions, n_coordinates))
        hand_differences.append(against_hand(gradient, by_hand))
    difference, hand = float(np.max(differences)), float(np.max(hand_differences))
    print(f"  gradient     {difference:.1e} largest relative difference to central differences")
    print(f"               (2 points, {n_directions} random directions and {n_coordinates} coordinates at each)")
    print(f"               {hand:.1e} largest relative difference to the hand-written gradient")

    for n in (*study.batches, len(study.X)):
        seconds, ratios = time_study(model, differentiated, params, study.X[:n], study.y[:n], quick)
        print(f"  time         {n} rows: {1e3 * seconds:.3f} ms by hand")
        for name, ratio in ratios.items():
            print(
                f"               {1e3 * ratio.seconds:.3f} ms by {name}: "
                f"ratio {ratio.median:.2f} {ratio.spread}, kept {KEPT[study.title, n, name]:.2f}"
            )

    failures = []
    # Written so that NaN fails too.
    if not held >= LEAST_ACCURACY:
        failures.append(f"{study.title}: held-out accuracy {held:.4f} is below {LEAST_ACCURACY}")
    if not difference <= MOST_DIFFERENCE:
        failures.append(f"{study.title}: off central differences by {difference:.1e}, more than {MOST_DIFFERENCE:.0e}")
    if not hand <= MOST_HAND_DIFFERENCE:
        failures.append(
            f"{study.title}: off the hand-written gradient by {hand:.1e}, more than {MOST_HAND_DIFFERENCE:.0e}"
        )
    return failures


def time_study(
    model: ModuleType, differentiated: Callable[..., Any], params: Any, X: np.ndarray, y: np.ndarray, quick: bool
) -> tuple[float, dict[str, Ratio]]:
    """Seconds by hand, and the Ratio of the everyday call, `value_and_grad(loss)`, and of `backward()` on Tensors."""
    leaves = {name: ag.tensor(value, requires_grad=True) for name, value in params.items()}

    def backward() -> None:
        for leaf in leaves.values():
            leaf.grad = None
        model.loss(leaves, X, y).backward()

    ways = {"value_and_grad(loss)": lambda: differentiated(params, X, y), "backward()": backward}
    rounds, sample = (3, 0.002) if quick else (41, 0.02)
    return beside_hand(ways, lambda: model.loss_and_gradient(params, X, y), rounds, sample)


def minimise(study: Study, packing: Packing, start: np.ndarray, differentiated: Callable[..., Any]) -> np.ndarray:
    """The minimiser (size,) of the training loss that L-BFGS-B finds from `start` (size,). Fills in the loss curves."""
    from scipy.optimize import minimize
    from tqdm import tqdm

    def objective(vector: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = differentiated(packing.unpack(vector), study.X, study.y)
        return float(value), packing.pack(gradient)

    def note(vector: np.ndarray, value: float) -> None:
        study.losses.append(value)
        study.held_losses.append(float(study.model.loss(packing.unpack(vector), study.X_held, study.y_held)))

    note(start, objective(start)[0])
    sys.stdout.flush()  # the bar goes to stderr, and comes after what was printed so far
    with tqdm(total=study.iterations, desc="  minimising", unit="it") as bar:

        def step(intermediate_result: Any) -> None:  # SciPy looks at the parameter's name
            note(intermediate_result.x, float(intermediate_result.fun))
            bar.set_postfix(loss=f"{study.losses[-1]:.4f}", refresh=False)
            bar.update()

        result = minimize(
            objective, start, jac=True, method="L-BFGS-B", callback=step, options={"maxiter": study.iterations}
        )
        bar.total = bar.n  # it may have converged before the last iteration
    return np.asarray(result.x)


def picture_graph(study: Study, seed: int, folder: Path, draw: Callable[..., Path]) -> list[Path]:
    """Records the study's loss once, on its first 32 rows, and writes the graph as <name>-graph.png and .dot."""
    params = study.model.init(np.random.default_rng(seed))
    leaves = {name: ag.tensor(value, requires_grad=True) for name, value in params.items()}
    value = study.model.loss(leaves, study.X[:32], study.y[:32])
    stem = study.model.__name__.removesuffix("_numpy")
    labels = {
        ag.autograd.graph.get_gradient_edge(leaf).node: f"{name}  {' x '.join(map(str, leaf.shape)) or 'scalar'}"
        for name, leaf in leaves.items()
    }
    picture = draw(value.grad_fn, labels, f"{study.title}: the graph of the loss", folder / f"{stem}-graph.png")
    source = folder / f"{stem}-graph.dot"
    source.write_text(ag.autograd.graph.draw(value).source, encoding="utf-8")
    return [picture, source]


def open_folder(out: str | None) -> Path:
    """The folder to write into, made if need be; without a name a fresh one, ./arraygrad-demo or -2, -3, ..."""
    if out is not None:
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    number = 1
    while True:
        folder = Path("arraygrad-demo" if number == 1 else f"arraygrad-demo-{number}")
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            number += 1
