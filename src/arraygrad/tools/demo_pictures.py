"""The demo's pictures: loss curves, and a recorded graph laid out in layers. Written as PNG by matplotlib alone.

May import: NumPy; matplotlib inside functions. Nothing of arraygrad: a graph is any object with `next_functions`, pairs
of (node or None, input number), and `name()`.

The layout is the usual one for layered graphs: each node in the layer of its longest path from the result, edges over
several layers bent through invisible points, points of a layer ordered by the mean position of their neighbours, and
then moved towards that mean as far as the widths allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np

INK, GRID = "#22303c", "#d7dee4"
BLUE, ORANGE = "#1f6fb2", "#d9822b"
RESULT, OPERATION, PARAMETER = ("#fbe3c8", "#c9731b"), ("#e8f0f7", "#7b9cba"), ("#dcf0e1", "#3e8f5b")  # fill, edge

# Sizes of the graph's picture, in inches.
FONT_SIZE = 9.0
CHARACTER, PADDING = 0.078, 0.24
LAYER_STEP, GAP, BOX_HEIGHT = 0.56, 0.22, 0.30

# How often the layout goes over the layers; graphs of a hundred nodes stop changing well before.
SWEEPS = 100


class GraphNode(Protocol):
    """What is asked of a node."""

    def name(self) -> str: ...

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]: ...


# A node, or the pair (edge number, layer number) where a long edge passes a layer.
Point = Any


@dataclass
class Layout:
    """Where everything goes."""

    layers: list[list[Point]]
    paths: list[list[Point]]  # per edge: its points from one node to the next
    width: dict[Point, float]
    x: dict[Point, float] = field(default_factory=dict)


def draw_losses(studies: Iterable[Any], path: Path) -> Path:
    """Loss over iterations, one panel a study: `losses` while training and `held_losses`; returns `path`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    studies = list(studies)
    figure = Figure(figsize=(5.2 * len(studies), 3.9), layout="constrained")
    FigureCanvasAgg(figure)
    for number, study in enumerate(studies):
        axes = figure.add_subplot(1, len(studies), number + 1)
        axes.plot(study.held_losses, color=ORANGE, linewidth=1.8, label="held out")
        axes.plot(study.losses, color=BLUE, linewidth=1.8, label="training")
        axes.set_yscale("log")
        axes.set_title(study.title, color=INK, fontsize=12, loc="left")
        axes.set_xlabel("L-BFGS-B iteration", color=INK)
        if number == 0:
            axes.set_ylabel("loss", color=INK)
        _plain_ticks(axes, [*study.losses, *study.held_losses])
        axes.grid(True, axis="y", color=GRID, linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        axes.margins(x=0.02)
    figure.savefig(path, dpi=150)
    return path


def _plain_ticks(axes: Any, values: list[float]) -> None:
    """Ticks at 1, 2 and 5 times powers of ten, written as ordinary numbers: a loss rarely spans two decades."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    decades = range(int(np.floor(np.log10(min(values)))) - 1, int(np.ceil(np.log10(max(values)))) + 1)
    axes.yaxis.set_major_locator(FixedLocator([digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def draw_graph(root: GraphNode, labels: Mapping[Any, str], title: str, path: Path) -> Path:
    """The graph below `root`, the result on top and the parameters (the nodes in `labels`) under it; returns `path`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    def text(node: GraphNode) -> str:
        return labels.get(node) or node.name()

    layout = lay_out(root, lambda node: CHARACTER * len(text(node)) + PADDING)
    left = min(layout.x[point] - layout.width[point] / 2 for point in layout.x)
    right = max(layout.x[point] + layout.width[point] / 2 for point in layout.x)
    margin, header, footer = 0.3, 0.55, 0.45
    width = max(right - left + 2 * margin, 4.6)
    height = (len(layout.layers) - 1) * LAYER_STEP + BOX_HEIGHT + header + footer + 0.1
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    # One unit is one inch; the graph stands in the middle, the result on top.
    middle = (left + right) / 2
    axes.set_xlim(middle - width / 2, middle + width / 2)
    axes.set_ylim(height - header - BOX_HEIGHT / 2, -header - BOX_HEIGHT / 2)
    depth = {point: LAYER_STEP * number for number, layer in enumerate(layout.layers) for point in layer}

    for points in layout.paths:
        places = [(layout.x[point], depth[point]) for point in points]
        style = "-|>,head_length=4,head_width=2"
        axes.add_patch(
            FancyArrowPatch(path=_curve(places), arrowstyle=style, color=INK, linewidth=0.9, alpha=0.75, zorder=1)
        )
    for node, x in layout.x.items():
        if isinstance(node, tuple):
            continue
        fill, edge = RESULT if node is root else PARAMETER if node in labels else OPERATION
        corner = (x - layout.width[node] / 2, depth[node] - BOX_HEIGHT / 2)
        box = FancyBboxPatch(corner, layout.width[node], BOX_HEIGHT, boxstyle="round,pad=0,rounding_size=0.08")
        box.set(facecolor=fill, edgecolor=edge, linewidth=1.1, zorder=2)
        axes.add_patch(box)
        axes.text(x, depth[node], text(node), ha="center", va="center", size=FONT_SIZE, color=INK, zorder=3)
    figure.text(0.3 / width, 1 - 0.28 / height, title, size=12, color=INK, va="center")
    note = "Arrows: where backward sends gradients. Green: parameters."
    figure.text(0.3 / width, 0.24 / height, note, size=8, color=INK, va="center")
    figure.savefig(path, dpi=150)
    return path


def _curve(places: list[tuple[float, float]]) -> Any:
    """A smooth path from under the first place to above the last.

    It leaves and arrives vertically. Past the boxes of a layer on its way it is straight: with the harmonic mean of the
    slopes before and after, which neither ripples nor overshoots, or vertical where the path turns back.
    """
    from matplotlib.path import Path as Curve

    half = BOX_HEIGHT / 2
    flattest = GAP / BOX_HEIGHT  # at most half a gap to either side
    ends = [(places[0][0], places[0][1] + half, 0.0)]
    for (before, y0), (x, y), (after, y1) in zip(places, places[1:], places[2:], strict=False):
        slope0, slope1 = (x - before) / (y - y0), (after - x) / (y1 - y)
        slope = 2 * slope0 * slope1 / (slope0 + slope1) if slope0 * slope1 > 0 else 0.0
        slope = min(max(slope, -flattest), flattest)
        ends += [(x - slope * half, y - half, slope), (x + slope * half, y + half, slope)]
    ends.append((places[-1][0], places[-1][1] - half, 0.0))
    vertices, codes = [ends[0][:2]], [Curve.MOVETO]
    for number, ((x0, y0, slope0), (x1, y1, slope1)) in enumerate(pairwise(ends)):
        if number % 2:  # past a layer
            vertices.append((x1, y1))
            codes.append(Curve.LINETO)
        else:  # from one layer to the next
            bend = 0.6 * (y1 - y0)
            vertices += [(x0 + slope0 * bend, y0 + bend), (x1 - slope1 * bend, y1 - bend), (x1, y1)]
            codes += [Curve.CURVE4] * 3
    return Curve(vertices, codes)


def lay_out(root: GraphNode, width_of: Callable[[Any], float]) -> Layout:
    """Layers, order and positions for every node below `root`; `width_of(node)` is its width in inches."""
    nodes = downward(root)
    level = dict.fromkeys(nodes, 0)
    for node in nodes:
        for follower in _followers(node):
            level[follower] = max(level[follower], level[node] + 1)

    layers: list[list[Point]] = [[] for _ in range(max(level.values()) + 1)]
    width: dict[Point, float] = {}
    for node in nodes:
        layers[level[node]].append(node)
        width[node] = width_of(node)
    paths: list[list[Point]] = []
    for node in nodes:
        for follower in _followers(node):
            between = [(len(paths), number) for number in range(level[node] + 1, level[follower])]
            for point in between:
                layers[point[1]].append(point)
                width[point] = 0.1
            paths.append([node, *between, follower])

    layout = Layout(layers, paths, width)
    above, below = _neighbours(paths)
    _order(layout, above, below)
    _place(layout, above, below)
    return layout


def downward(root: GraphNode) -> list[Any]:
    """Every node reachable from `root`, each before all those it points to."""
    finished: list[Any] = []
    seen = {root}
    stack = [(root, iter(_followers(root)))]
    while stack:
        node, rest = stack[-1]
        follower = next(rest, None)
        if follower is None:
            finished.append(node)
            stack.pop()
        elif follower not in seen:
            seen.add(follower)
            stack.append((follower, iter(_followers(follower))))
    return finished[::-1]


def _followers(node: GraphNode) -> list[Any]:
    return [follower for follower, _ in node.next_functions if follower is not None]


Neighbours = dict[Point, list[Point]]


def _neighbours(paths: list[list[Point]]) -> tuple[Neighbours, Neighbours]:
    """For every point its neighbours in the layer above, and in the layer below."""
    above: Neighbours = {point: [] for points in paths for point in points}
    below: Neighbours = {point: [] for points in paths for point in points}
    for points in paths:
        for upper, lower in pairwise(points):
            below[upper].append(lower)
            above[lower].append(upper)
    return above, below


def crossings(layers: list[list[Point]], below: Neighbours) -> int:
    """How many pairs of edges cross between neighbouring layers."""
    total = 0
    for upper, lower in pairwise(layers):
        rank = {point: number for number, point in enumerate(lower)}
        ends = [sorted(rank[point] for point in below.get(source, ())) for source in upper]
        flat = [end for some in ends for end in some]
        total += sum(flat[i] > flat[j] for i in range(len(flat)) for j in range(i + 1, len(flat)))
    return total


def _order(layout: Layout, above: Neighbours, below: Neighbours) -> None:
    """Sorts every layer by the mean rank of its neighbours, down and up in turn; keeps the order that crosses least."""
    layers = layout.layers
    best, best_crossings = [list(layer) for layer in layers], crossings(layers, below)
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        neighbours = above if downwards else below
        for number in range(1, len(layers)) if downwards else range(len(layers) - 2, -1, -1):
            other = layers[number - 1 if downwards else number + 1]
            rank = {point: place for place, point in enumerate(other)}
            wanted = {}
            for place, point in enumerate(layers[number]):
                ranks = [rank[neighbour] for neighbour in neighbours.get(point, ())]
                wanted[point] = float(np.mean(ranks)) if ranks else float(place)
            layers[number].sort(key=wanted.__getitem__)
        now = crossings(layers, below)
        if now < best_crossings:
            best, best_crossings = [list(layer) for layer in layers], now
    layout.layers = best


def _place(layout: Layout, above: Neighbours, below: Neighbours) -> None:
    """Horizontal positions: each point as near the mean of its neighbours as order and widths allow, in sweeps."""
    x = layout.x
    for layer in layout.layers:
        x.update(zip(layer, _apart(layer, [0.0] * len(layer), layout.width), strict=True))
    layers = layout.layers
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            wanted = []
            for point in layer:
                near = [x[neighbour] for neighbour in (*above.get(point, ()), *below.get(point, ()))]
                wanted.append(float(np.mean(near)) if near else x[point])
            x.update(zip(layer, _apart(layer, wanted, layout.width), strict=True))


def _apart(layer: list[Point], wanted: list[float], width: dict[Point, float]) -> list[float]:
    """The positions nearest to `wanted` (least squares) that keep the layer's order and leave GAP between boxes.

    With the boxes' own extents subtracted the condition is "never decreasing", which merging neighbours that are out of
    order into blocks at their mean solves exactly.
    """
    offsets = [0.0]
    for left, right in pairwise(layer):
        offsets.append(offsets[-1] + (width[left] + width[right]) / 2 + GAP)
    blocks: list[tuple[float, int]] = []  # mean, members
    for place, offset in zip(wanted, offsets, strict=True):
        mean, members = place - offset, 1
        while blocks and blocks[-1][0] > mean:
            previous, count = blocks.pop()
            mean = (previous * count + mean * members) / (count + members)
            members += count
        blocks.append((mean, members))
    means = [mean for mean, members in blocks for _ in range(members)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
