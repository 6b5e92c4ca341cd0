"""Draws the site's figures into docs/_made/figures when the site is built: nothing here is checked in as a picture.

Figures of code run the code of the page that shows them, so that picture and text can't differ.
"""

import contextlib
import io
import re
import shutil
import tempfile
import textwrap
import typing
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


def logo(path: Path) -> None:
    """The logo: a curve and its tangent, in a square that reads on light and on dark pages."""
    x = np.linspace(0.0, 1.0, 33)
    y = 0.5 + 0.32 * np.sin(2.0 * np.pi * x)
    curve = " ".join(f"{8 + 48 * a:.1f},{64 - 64 * b:.1f}" for a, b in zip(x, y, strict=True))
    slope = ag.grad(lambda a: 0.5 + 0.32 * np.sin(2.0 * np.pi * a))(0.1)
    height = 0.5 + 0.32 * np.sin(0.2 * np.pi)
    ends = [(0.1 + step, height + slope * step) for step in (-0.1, 0.14)]
    (x1, y1), (x2, y2) = [(8 + 48 * a, 64 - 64 * b) for a, b in ends]
    path.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="64" height="64">'
        '<rect width="64" height="64" rx="12" fill="white"/>'
        f'<polyline points="{curve}" fill="none" stroke="{BLUE}" stroke-width="5" stroke-linecap="round"/>'
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{ORANGE}" stroke-width="5" '
        'stroke-linecap="round"/></svg>\n'
    )


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


# A line of a kept table: the workload, the time by hand, our ratio with its quartiles, then bars and peers.
_ROW = re.compile(r"^(\S+) +[\d.]+ (?:ns|us|ms|s) +([\d.]+) \[.*?\]\s+(.*)$")

# The workloads in words. A workload that is not here goes by its name, with spaces.
_WORDS = {
    "chain-1-f64": "formula of 1 number", "chain-100-f64": "formula of 100 numbers",
    "chain-100-f32": "formula of 100 numbers, float32", "chain-10k-f32": "formula of 10,000 numbers, float32",
    "chain-1m-f32": "formula of 1,000,000 numbers, float32", "mlp-small": "MLP, batch 32",
    "mlp-large": "MLP, batch 512", "lstm": "LSTM", "hessian-vector": "Hessian times vector",
    "slices-10k": "slices of 10,000 numbers", "slices-1m": "slices of 1,000,000 numbers",
    "concat-stack": "concat and stack", "fan-out-1": "one value used often, size 1",
    "fan-out-100": "one value used often, size 100", "scalar-graph": "Python loop over scalars",
    "n-body": "n-body forces", "attention-matmul": "attention, matmul", "attention-einsum": "attention, einsum",
    "conv-windows": "convolution, windows", "conv-slices": "convolution, slices",
    "heat-in-place": "heat equation, in place", "heat-pad": "heat equation, padded",
    "hidden-markov": "hidden Markov model", "split-step": "split-step Fourier", "options": "option prices",
    "plain-logistic": "logistic regression, 20 rows", "plain-mlp": "MLP, 20 rows", "hessian-50": "Hessian, 50 x 50",
    "jacobian-100": "Jacobian, 100 x 100",
}  # fmt: skip
_PEERS = {"torch": ("s", "#c0504d"), "autograd": ("^", "#7f9f3f"), "mygrad": ("D", "#8064a2")}


def in_words(workload: str) -> str:
    """The label of a workload."""
    return _WORDS.get(workload, workload.replace("-", " "))


class Kept(typing.NamedTuple):
    """A kept table."""

    name: str
    date: str
    machine: str
    ratios: dict[str, float]  # workload -> time over that by hand
    peers: dict[str, dict[str, float]]  # peer -> the same of the peer


def table(path: Path) -> Kept:
    """Reads a kept table. Notes below rows, and figures in other units, are left out."""
    lines = path.read_text().splitlines()
    date, machine = lines[0].split(", ", 1)
    header = next(line for line in lines if line.startswith("workload"))
    names = header.split("reached", 1)[1].split()
    ours, peers = {}, {name: {} for name in names}
    for found in filter(None, map(_ROW.match, lines)):
        ours[found[1]] = float(found[2])
        columns = found[3].split()[3:]  # after bar, moon and reached
        for name, text in zip(names, columns, strict=False):
            if text != "-":
                peers[name][found[1]] = float(text.rstrip("*"))
    return Kept(path.stem, date, machine, ours, peers)


def kept() -> list[Kept]:
    """All kept tables, by date; those of one day from the slowest on."""
    found = [table(path) for path in HISTORY.glob("*.txt")]
    return sorted(found, key=lambda one: (one.date, -np.mean(np.log(list(one.ratios.values())))))


_TICKS = [0.125, 0.25, 0.5, *(2**n for n in range(12))]
_TICK_NAMES = ["1/8", "1/4", "1/2", *(f"{2**n}" for n in range(12))]


def ratios(path: Path) -> None:
    """The newest table: time over that of a gradient by hand, with the peers beside."""
    newest = kept()[-1]
    order = sorted(newest.ratios, key=newest.ratios.get)
    places = np.arange(len(order))
    figure, axes = plt.subplots(figsize=(9, 0.24 * len(order) + 1.4), layout="constrained")
    values = np.array([newest.ratios[row] for row in order])
    axes.barh(places, values, color=np.where(values <= 1.05, BLUE, ORANGE), height=0.7, label="arraygrad", zorder=2)
    for name, rows in newest.peers.items():
        marker, color = _PEERS.get(name, ("o", GREY))
        given = [(rows[row], place) for row, place in zip(order, places, strict=True) if row in rows]
        if given:
            axes.plot(*zip(*given, strict=True), marker, color=color, markersize=4, linestyle="", label=name, zorder=3)
    axes.axvline(1.0, color=INK, linewidth=1)
    axes.set_yticks(places, [in_words(row) for row in order], fontsize=8)
    axes.set(xscale="log", xlim=(0.1, 2500), ylim=(-0.7, len(order) - 0.3))
    axes.set_xlabel("time over that of NumPy code written by hand, forward and backward")
    axes.set_xticks(_TICKS, _TICK_NAMES, fontsize=8)
    axes.minorticks_off()
    axes.grid(axis="x", color="0.9", linewidth=0.6, zorder=0)
    axes.set_title(f"Time of value and gradient, {newest.date}\n{newest.machine}", fontsize=9, loc="left", color=INK)
    axes.legend(frameon=False, loc="lower right", fontsize=8)
    finish(figure, path)


def course(path: Path) -> None:
    """Each workload over the kept states: how many times the time of code by hand it takes."""
    states = kept()
    rows = [row for row in states[-1].ratios if all(row in state.ratios for state in states)]
    figure, axes = plt.subplots(figsize=(9, 4.4), layout="constrained")
    at = np.arange(len(states))
    for row in rows:
        axes.plot(at, [state.ratios[row] for state in states], "o-", linewidth=1, markersize=3, color=GREY)
    # The three that stand highest at the end are named.
    for row in sorted(rows, key=states[-1].ratios.get)[-3:]:
        axes.annotate(
            in_words(row),
            (at[-1], states[-1].ratios[row]),
            xytext=(6, 0),
            textcoords="offset points",
            fontsize=8,
            va="center",
        )
    means = [np.exp(np.mean(np.log([state.ratios[row] for row in rows]))) for state in states]
    axes.plot(at, means, "o-", color=ORANGE, linewidth=2.5, label="geometric mean of all workloads")
    names = [textwrap.fill(state.name.replace("-", " "), 16) + f"\n{state.date}" for state in states]
    axes.set_xticks(at, names, fontsize=8)
    axes.set_xlim(-0.2, at[-1] + 0.9)
    axes.set(yscale="log", ylabel="time over that by hand")
    low = [tick for tick in _TICKS if tick <= 16]
    axes.set_yticks(low, _TICK_NAMES[: len(low)])
    axes.minorticks_off()
    axes.legend(frameon=False, loc="upper right")
    finish(figure, path)


def finish(figure, path: Path) -> None:
    """Takes away the frame and writes the figure. White, so that it can be read on a dark page too."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, facecolor="white", metadata={"Date": None})
    plt.close(figure)
