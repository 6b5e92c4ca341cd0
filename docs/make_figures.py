"""Draws the site's figures into docs/_made/figures when the site is built: nothing here is checked in as a picture.

Figures of code run the code of the page that shows them, so that picture and text can't differ.
"""

import contextlib
import io
import re
import shutil
import tempfile
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import arraygrad as ag
from arraygrad.tools.demo_pictures import draw_graph

HERE = Path(__file__).resolve().parent
HISTORY = HERE.parent / "benchmarks" / "history"
INK, BLUE, ORANGE, GREY = "#22303c", "#1f6fb2", "#d9822b", "0.65"


def write(folder: Path) -> None:
    """All figures, each to a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    landing(folder / "landing.svg")
    demo(folder)
    graphs(folder)
    denoise(folder / "denoise.svg")
    control(folder / "control.svg")
    ratios(folder / "ratios.svg")
    course(folder / "course.svg")


def code_of(page: str) -> str:
    """The first python block of a page."""
    return re.search(r"^```python\n(.*?)^```", (HERE / page).read_text(), re.M | re.S)[1]


def names_of(page: str) -> dict:
    """What all python blocks of a page define."""
    names = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in re.findall(r"^```python\n(.*?)^```", (HERE / page).read_text(), re.M | re.S):
            exec(block, names)
    return names


def demo(folder: Path) -> None:
    """The pictures that the demo itself writes."""
    from arraygrad.tools import demo as the_demo

    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(io.StringIO()):
        with contextlib.redirect_stderr(io.StringIO()):
            the_demo.run(place, quick=True)
        for name in ("loss.png", "digits-graph.png"):
            shutil.copy(Path(place) / name, folder / f"demo-{name}")


def denoise(path: Path) -> None:
    """The pictures of the tutorial on images."""
    names = names_of("tutorials/images.md")
    figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
    for number, name in enumerate(("picture", "noisy", "restored")):
        axes[number].imshow(names[name], vmin=-0.5, vmax=1.5, cmap="gray")
        axes[number].set_title(name, color=INK)
        axes[number].set_axis_off()
    finish(figure, path)


def control(path: Path) -> None:
    """The tutorial on control: the angle, and the force."""
    names = names_of("tutorials/control.md")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for forces, name, color in ((names["start"], "feedback", GREY), (names["best"].x, "best forces", ORANGE)):
        left.plot(names["DT"] * np.arange(names["STEPS"] + 1), names["run"](forces)[:, 2], color=color, label=name)
        right.step(names["DT"] * np.arange(names["STEPS"]), forces, color=color, label=name, where="post")
    left.set(xlabel="time (s)", ylabel="angle of the pole (rad)")
    right.set(xlabel="time (s)", ylabel="force (N)")
    left.legend(frameon=False)
    finish(figure, path)


def landing(path: Path) -> None:
    """The landing page's program, and the same fit with SciPy's finite differences."""
    from scipy.optimize import minimize

    names = {}
    exec(code_of("index.md").replace("print(", "str("), names)
    loss, start = names["loss"], np.full(names["N"], 0.1)

    def followed(f, jac):
        """(calls of the loss so far, loss) along a fit."""
        calls, curve = [0], []

        def counted(x):
            calls[0] += 1
            return f(x)

        def note(intermediate_result):
            curve.append((calls[0], float(intermediate_result.fun)))

        options = {"maxfun": 10**6, "maxiter": 400, "ftol": 1e-12}
        minimize(counted, start, jac=jac, method="L-BFGS-B", callback=note, options=options)
        return np.array(curve).T

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    left.plot(names["record"], color=GREY, linewidth=2, label="measured")
    left.plot(names["truth"], color=INK, linestyle="--", linewidth=1, label="true signal")
    left.plot(names["fit"].x, color=ORANGE, linewidth=1.8, label="recovered")
    left.legend(frameon=False)
    left.set_title("A signal behind a blur", loc="left", color=INK)
    right.loglog(*followed(loss, None), color=GREY, linewidth=2, label="finite differences")
    right.loglog(*followed(ag.value_and_grad(loss), True), color=ORANGE, linewidth=2, label="arraygrad")
    right.set(xlabel="calls", ylabel="loss")
    right.set_title("Calls until the fit converges", loc="left", color=INK)
    right.legend(frameon=False)
    finish(figure, path)


def graphs(folder: Path) -> None:
    """The drawings of `How it works`: each of the page's graphs."""
    x = ag.tensor([0.5, 1.0], requires_grad=True)
    w = ag.tensor([2.0, 3.0], requires_grad=True)
    draw(ag.sin(x), {"x": x}, "sin(x)", folder / "graph-one.svg")
    y = w * ag.sin(x)
    draw(ag.sum(y), {"x": x, "w": w}, "sum(w * sin(x))", folder / "graph-product.svg")
    h = ag.tanh(x * w)
    draw(ag.sum(h * h + h), {"x": x, "w": w}, "sum(h * h + h), h = tanh(x * w)", folder / "graph-shared.svg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (g,) = ag.autograd.grad(ag.sum(ag.sin(x)), (x,), create_graph=True)
    draw(ag.sum(g), {"x": x}, "the gradient of sum(sin(x)), recorded", folder / "graph-second.svg")


def draw(result, leaves: dict, title: str, path: Path) -> None:
    """One graph, laid out by the code that draws the demo's."""
    edge = ag.autograd.graph.get_gradient_edge
    draw_graph(result.grad_fn, {edge(leaf).node: name for name, leaf in leaves.items()}, title, path)


# A line of a kept table: the workload, its unit (time over that by hand, unless it says otherwise), and the middle.
_ROW = re.compile(r"^(\S+) +x? +(\d+(?:\.\d+)?) \[")


def table(path: Path) -> tuple[str, dict[str, float]]:
    """A kept table: its date and conditions, and the ratio of each workload. Notes and other units are left out."""
    lines = path.read_text().splitlines()
    return "; ".join(lines[:3]), {found[1]: float(found[2]) for found in map(_ROW.match, lines) if found}


def kept() -> list[tuple[str, str, dict[str, float]]]:
    """(name, conditions, ratios) of all kept tables, the slowest state first."""
    found = [(path.stem, *table(path)) for path in HISTORY.glob("*.txt")]
    return sorted(found, key=lambda entry: -np.mean(np.log(list(entry[2].values()))))


def ratios(path: Path) -> None:
    """The newest table: time over that of a gradient by hand."""
    name, conditions, rows = kept()[-1]
    order = sorted(rows, key=rows.get)
    figure, axes = plt.subplots(figsize=(8, 5.6), layout="constrained")
    values = np.array([rows[row] for row in order])
    axes.barh(order, values, color=np.where(values <= 1.05, BLUE, ORANGE), height=0.7)
    axes.axvline(1.0, color=INK, linewidth=1)
    axes.set(xscale="log", xlabel="time of arraygrad / time of NumPy code written by hand (forward and backward)")
    axes.set_xticks([0.25, 0.5, 1, 2, 4, 8], ["0.25", "0.5", "1", "2", "4", "8"])
    axes.minorticks_off()
    axes.set_title(f"{name}: {conditions}", fontsize=8, loc="left", color=INK)
    finish(figure, path)


def course(path: Path) -> None:
    """Each workload over the kept states."""
    states = kept()
    rows = [row for row in states[-1][2] if all(row in state[2] for state in states)]
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    for row in rows:
        axes.plot([state[2][row] for state in states], "o-", linewidth=1, markersize=3, color=GREY)
    means = [np.exp(np.mean(np.log([state[2][row] for row in rows]))) for state in states]
    axes.plot(means, "o-", color=ORANGE, linewidth=2.5, label="geometric mean of all workloads")
    axes.set_xticks(range(len(states)), [state[0].replace("-", "\n", 1) for state in states], fontsize=8)
    axes.set(yscale="log", ylabel="time / time by hand")
    axes.set_yticks([0.25, 0.5, 1, 2, 4, 8], ["0.25", "0.5", "1", "2", "4", "8"])
    axes.minorticks_off()
    axes.legend(frameon=False)
    finish(figure, path)


def finish(figure, path: Path) -> None:
    """Takes away the frame and writes the figure. White, so that it can be read on a dark page too."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, facecolor="white", metadata={"Date": None})
    plt.close(figure)
