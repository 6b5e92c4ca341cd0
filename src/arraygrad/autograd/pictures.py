"""Pictures of graphs as SVG text, laid out in layers. No other program or package is needed.

May import: html, itertools. Knows no nodes of ours: a graph is a list of labels, and a list of edges between their
positions.

Note [Layered pictures]
~~~~~~~~~~~~~~~~~~~~~~~
The steps are those of Sugiyama, Tagawa and Toda (1981).
(1) The layer of a node is the length of the longest path to it from a node that nothing leads to.
(2) An edge over several layers gets an invisible node in each layer between, so that every edge joins neighbours.
(3) Within the layers nodes are sorted by the mean place of what they are joined to, downwards and upwards in turn.
(4) A node wants to stand at the mean of its neighbours. Positions with the least squared distance from what is wanted,
    in the given order and without overlap, are an isotonic regression: neighbours that would overlap are pooled.
Guarded by tests/transforms/test_pictures.py.
"""

from html import escape
from itertools import pairwise

__all__ = ["svg"]

LETTER, LINE = 6.7, 14.0  # size of a letter of the 11-pixel monospace font, and of a line
PAD, GAP, LAYER_GAP = 10.0, 18.0, 34.0  # within a node, between nodes, between layers
THIN = 8.0  # width of an invisible node
PORT = 22.0  # between arrows to inputs of one node that have different texts
ORDER_SWEEPS, PLACE_SWEEPS = 12, 16

_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{w:.0f}" height="{h:.0f}" viewBox="0 0 {w:.0f} {h:.0f}" \
style="max-width: 100%" font-family="monospace" font-size="11">
<defs><marker id="arraygrad-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">\
<path d="M 0 0 L 8 4 L 0 8 z" fill="#555"/></marker></defs>
<rect width="100%" height="100%" fill="white"/>"""


def svg(labels, edges, boxed=()):
    """The text of an SVG picture.

    Parameters
    ----------
    labels : list of str
        Text of each node, of one line or several.
    edges : list of (int, int, str)
        Positions of the node an arrow comes from and of the one it leads to, and the text beside it. No cycles.
    boxed : container of int
        Nodes that are drawn as filled boxes.
    """
    count = len(labels)
    layer = _layers(count, edges)
    joined, paths = _with_invisible(layer, edges)
    lines = [label.split("\n") for label in labels]
    widths = [2 * PAD + LETTER * max(map(len, text)) for text in lines] + [THIN] * (len(layer) - count)
    rows = _ordered(layer, joined)
    x = _placed(rows, joined, widths)
    heights = [max([LINE * len(lines[v]) + PAD for v in row if v < count], default=LINE) for row in rows]
    tops, top = [], GAP
    for height in heights:
        tops.append(top)
        top += height + LAYER_GAP
    left = min(x[v] - widths[v] / 2 for v in range(len(x))) - GAP
    x = [at - left for at in x]
    parts = [_HEAD.format(w=max(x[v] + widths[v] / 2 for v in range(len(x))) + GAP, h=top - LAYER_GAP + GAP)]
    ports = {}
    for _, end, text in edges:
        ports.setdefault(end, set()).add(text)
    for path, text in paths:
        inputs = sorted(ports[path[-1]])
        shift = PORT * (inputs.index(text) - (len(inputs) - 1) / 2)
        parts.append(_arrow(path, text, shift, x, tops, heights, layer, lines))
    for v, text in enumerate(lines):
        height = LINE * len(text) + PAD
        y = tops[layer[v]]
        look = 'rx="2" fill="#e4e4e4"' if v in boxed else 'rx="12" fill="#fbfbfb"'
        parts.append(
            f'<rect x="{x[v] - widths[v] / 2:.1f}" y="{y:.1f}" width="{widths[v]:.1f}" height="{height:.1f}" '
            f'{look} stroke="#555"/>'
        )
        for i, line in enumerate(text):
            weight = ' font-weight="bold"' if i == 0 else ""
            parts.append(
                f'<text x="{x[v]:.1f}" y="{y + PAD / 2 + LINE * (i + 0.75):.1f}" text-anchor="middle"{weight}>'
                f"{escape(line)}</text>"
            )
    return "\n".join([*parts, "</svg>"])


def _layers(count, edges):
    """(1)"""
    after = [[] for _ in range(count)]
    before = [0] * count
    for start, end, _ in edges:
        after[start].append(end)
        before[end] += 1
    layer = [0] * count
    ready = [v for v in range(count) if not before[v]]
    for v in ready:  # grows as the loop goes
        for end in after[v]:
            layer[end] = max(layer[end], layer[v] + 1)
            before[end] -= 1
            if not before[end]:
                ready.append(end)
    if len(ready) != count:
        raise ValueError("svg: the graph has a cycle")
    return layer


def _with_invisible(layer, edges):
    """(2): pairs of joined nodes in neighbouring layers, and each edge's (nodes, text). `layer` grows."""
    joined, paths = [], []
    for start, end, text in edges:
        path = [start]
        for between in range(layer[start] + 1, layer[end]):
            layer.append(between)
            path.append(len(layer) - 1)
        path.append(end)
        joined += pairwise(path)
        paths.append((path, text))
    return joined, paths


def _neighbours(size, joined):
    above, below = [[] for _ in range(size)], [[] for _ in range(size)]
    for start, end in joined:
        below[start].append(end)
        above[end].append(start)
    return above, below


def _ordered(layer, joined):
    """(3): the nodes of each layer from left to right; of all orders that were met the one with fewest crossings."""
    rows = [[] for _ in range(max(layer, default=-1) + 1)]
    for v, at in enumerate(layer):
        rows[at].append(v)
    above, below = _neighbours(len(layer), joined)
    best, fewest = rows, None
    for sweep in range(ORDER_SWEEPS):
        place = {v: i for row in rows for i, v in enumerate(row)}
        crossings = _crossings(rows, below, place)
        if fewest is None or crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
        if not fewest:
            break
        sides = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            mean = {v: sum(place[n] for n in sides[v]) / len(sides[v]) if sides[v] else place[v] for v in row}
            row.sort(key=mean.__getitem__)
            place.update({v: i for i, v in enumerate(row)})
    return best


def _crossings(rows, below, place):
    """How many pairs of edges between neighbouring layers cross."""
    count = 0
    for row in rows:
        ends = [place[n] for v in row for n in sorted(below[v], key=place.__getitem__)]
        count += sum(1 for i, end in enumerate(ends) for other in ends[:i] if other > end)
    return count


def _placed(rows, joined, widths):
    """(4): the middle of each node."""
    x = [0.0] * len(widths)
    offsets = []
    for row in rows:
        at, offset = 0.0, []
        for i, v in enumerate(row):
            at += (widths[row[i - 1]] + widths[v]) / 2 + GAP if i else 0.0
            offset.append(at)
            x[v] = at
        offsets.append(offset)
    above, below = _neighbours(len(widths), joined)
    for sweep in range(PLACE_SWEEPS):
        last = sweep >= PLACE_SWEEPS - 2
        order = list(zip(rows, offsets, strict=True))
        for row, offset in order if sweep % 2 == 0 else reversed(order):
            wanted = []
            for v in row:
                near = above[v] + below[v] if last or not (above[v] and below[v]) else (above, below)[sweep % 2][v]
                wanted.append(sum(x[n] for n in near) / len(near) if near else x[v])
            for v, at in zip(row, _without_overlap(wanted, offset), strict=True):
                x[v] = at
    return x


def _without_overlap(wanted, offset):
    """The places nearest to `wanted`, each at least as far behind the one before as in `offset`."""
    blocks = []  # [sum, count] of pooled distances from the offsets
    for at, off in zip(wanted, offset, strict=True):
        blocks.append([at - off, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, number = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += number
    means = [total / number for total, number in blocks for _ in range(number)]
    return [mean + off for mean, off in zip(means, offset, strict=True)]


def _arrow(path, text, shift, x, tops, heights, layer, lines):
    start, end = path[0], path[-1]
    points = [(x[start], tops[layer[start]] + LINE * len(lines[start]) + PAD)]
    points += [(x[v], tops[layer[v]] + heights[layer[v]] / 2) for v in path[1:-1]]
    points.append((x[end] + shift, tops[layer[end]]))
    curve = f"M {points[0][0]:.1f} {points[0][1]:.1f}"
    for (a, b), (c, d) in pairwise(points):
        middle = (b + d) / 2
        curve += f" C {a:.1f} {middle:.1f} {c:.1f} {middle:.1f} {c:.1f} {d:.1f}"
    drawn = f'<path d="{curve}" fill="none" stroke="#555" marker-end="url(#arraygrad-arrow)"/>'
    if text:
        c, d = points[-1]
        drawn += f'\n<text x="{c + 5:.1f}" y="{d - 3:.1f}" fill="#555">{escape(text)}</text>'
    return drawn
