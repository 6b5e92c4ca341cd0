"""The recorded graph as users see it (`arraygrad.autograd.graph`): edges, what runs now, pictures and counts.

May import: engine, core.tensor, autograd.graph_hooks, autograd.saved_hooks. Walks over the graph are iterative: graphs
of a million nodes are ordinary.
"""

from collections import namedtuple

from arraygrad._first_use import first_use
from arraygrad.core.tensor import AccumulateGrad, Tensor, backend_of, gradient_edge
from arraygrad.core.tensor import increment_version as _increment_version
from arraygrad.engine.context import carry_context
from arraygrad.engine.engine import current_graph_task_id, current_node, queue_callback, will_execute
from arraygrad.engine.graph_task import current_graph_task_execution_order, current_graph_task_keep_graph
from arraygrad.engine.node import Node

__all__ = [
    "Drawing",
    "GradientEdge",
    "Node",
    "carry_context",
    "current_graph_task_execution_order",
    "current_graph_task_id",
    "current_graph_task_keep_graph",
    "current_node",
    "draw",
    "get_gradient_edge",
    "increment_version",
    "queue_callback",
    "summary",
    "will_execute",
]


_ON_FIRST_USE = {
    "NodeEvent": "arraygrad.autograd.run_trace",
    "SavedTensor": "arraygrad.core.saved_tensor",
    "disable_saved_tensors_hooks": "arraygrad.autograd.saved_hooks",
    "op_hooks": "arraygrad.autograd.graph_hooks",
    "profile": "arraygrad.autograd.run_profile",
    "register_multi_grad_hook": "arraygrad.autograd.graph_hooks",
    "save_on_cpu": "arraygrad.autograd.saved_hooks",
    "save_on_disk": "arraygrad.autograd.saved_hooks",
    "saved_tensors_hooks": "arraygrad.autograd.saved_hooks",
    "trace": "arraygrad.autograd.run_trace",
}
__all__.extend(_ON_FIRST_USE)
__all__.sort()
__getattr__, __dir__ = first_use(globals(), _ON_FIRST_USE)


GradientEdge = namedtuple("GradientEdge", ("node", "output_nr"), module=__name__)
GradientEdge.__doc__ = """The place in the graph where a tensor's gradient arrives: input `output_nr` of `node`.

It stands for the tensor in `autograd.grad` and `autograd.backward`, as an output and as an input, keeps the graph alive
but not the tensor's array, and goes on meaning the old value after the tensor was changed in place.

Examples
--------
>>> import arraygrad as ag
>>> x = ag.tensor([1.0, 2.0], requires_grad=True)
>>> y = x * 3.0
>>> edge = ag.autograd.graph.get_gradient_edge(y)
>>> ag.autograd.grad(y.sum(), [edge])[0]
Tensor([1., 1.])
"""


def get_gradient_edge(t):
    """The `GradientEdge` of a tensor.

    Parameters
    ----------
    t : Tensor
        Any tensor that requires grad; for a leaf the edge leads to its gradient accumulator.

    Returns
    -------
    GradientEdge

    Raises
    ------
    TypeError
        If `t` is not a Tensor.
    RuntimeError
        If `t` does not require grad.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> edge = ag.autograd.graph.get_gradient_edge(ag.exp(x))
    >>> edge.node.name(), edge.output_nr
    ('ExpBackward', 0)
    """
    if not isinstance(t, Tensor):
        raise TypeError(f"get_gradient_edge: t must be a Tensor, got {type(t).__name__}")
    if not t.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a tensor that does not require gradients")
    node, output_nr = gradient_edge(t)
    return GradientEdge(node, output_nr)


def increment_version(t):
    """Tell the graph that the memory of a tensor was changed behind its back.

    A node that has saved the old value then sees the change, as after an in-place operation in PyTorch: backward
    through it raises. Call it when you have written into `t.array` yourself.

    Parameters
    ----------
    t : Tensor or iterable of Tensor

    Raises
    ------
    TypeError
        If something else than Tensors is given.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * 1.0
    >>> y.array[:] = 0.0
    >>> ag.autograd.graph.increment_version(y)
    >>> y.version
    1
    """
    tensors = (t,) if isinstance(t, Tensor) else tuple(t)
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"increment_version: expected Tensors, got {type(tensor).__name__}")
    for tensor in tensors:
        _increment_version(tensor)


def _roots(t, what):
    """The nodes that `t` (a Tensor, GradientEdge, Node, or an iterable of them) starts from."""
    items = (t,) if isinstance(t, (Tensor, GradientEdge, Node)) else tuple(t)
    nodes = []
    for item in items:
        if isinstance(item, Node):
            nodes.append(item)
        elif isinstance(item, GradientEdge):
            nodes.append(item.node)
        elif isinstance(item, Tensor):
            if not item.requires_grad:
                raise RuntimeError(f"{what}: the tensor does not require grad, so there is no graph behind it")
            nodes.append(gradient_edge(item)[0])
        else:
            raise TypeError(f"{what}: expected a Tensor, a GradientEdge or a Node, got {type(item).__name__}")
    return nodes


def walk(roots, ends=None):
    """Every node reachable from `roots`, each once, parents before what they were first reached from.

    `ends(node)` says whether the walk goes no further behind a node.
    """
    seen = set(roots)
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        yield node
        if ends is not None and ends(node):
            continue
        for child, _ in node.next_functions:
            if child is not None and child not in seen:
                seen.add(child)
                stack.append(child)


class Drawing:
    """A graph as DOT text in `source`, and as a picture: notebooks show it, up to `MOST_NODES` nodes.

    Attributes
    ----------
    source : str
        The DOT text.
    labels, edges, boxed
        What `pictures.svg` takes.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> ag.autograd.graph.draw(x.sum())
    <Drawing of 2 nodes; .source is DOT text, .render(path) draws it>
    """

    MOST_NODES = 400  # more than one can look at

    def __init__(self, source, labels=(), edges=(), boxed=frozenset()):
        self.source = source
        self.labels = labels
        self.edges = edges
        self.boxed = boxed

    def __str__(self):
        return self.source

    def __repr__(self):
        return f"<Drawing of {len(self.labels)} nodes; .source is DOT text, .render(path) draws it>"

    def save(self, path):
        """Write the DOT text to `path`; returns the path."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.source)
        return path

    def render(self, path, format="svg"):
        """Draw the graph to the file `path` in `format` ("svg", "png", "pdf", ...); returns the path.

        SVG of at most `MOST_NODES` nodes needs nothing else; other pictures are drawn by graphviz.

        Raises
        ------
        ImportError
            If graphviz is needed and its Python package is not installed.
        graphviz.ExecutableNotFound
            If graphviz is needed and its program `dot` is not installed.
        """
        own = self._repr_svg_() if format == "svg" else None
        picture = self._pipe(format) if own is None else own.encode("utf-8")
        with open(path, "wb") as file:
            file.write(picture)
        return path

    def _pipe(self, format):
        try:
            import graphviz
        except ImportError as error:
            raise ImportError(
                f"drawing a graph as {format}, or one of more than {self.MOST_NODES} nodes, needs the Python package "
                "graphviz (pip install graphviz) and the graphviz program; the DOT text itself is in .source"
            ) from error
        return graphviz.Source(self.source).pipe(format=format)

    def _repr_svg_(self):
        if not 0 < len(self.labels) <= self.MOST_NODES:
            return None  # the notebook shows the text
        from arraygrad.autograd.pictures import svg

        return svg(self.labels, self.edges, self.boxed)


def _quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _label(node):
    lines = [node.name()]
    for meta in node.input_metadata:
        if meta is not None:
            lines.append(f"{meta.shape} {meta.dtype}")
    return "\n".join(lines)


def draw(t):
    """A drawing of the graph behind a tensor.

    Each node is labelled with its name and with the shape and dtype of the values it belongs to; leaves are boxes. An
    arrow leads from a node to those it hands gradients to, numbered where a node has several inputs.

    Parameters
    ----------
    t : Tensor, GradientEdge, Node, or an iterable of them

    Returns
    -------
    Drawing
        Notebooks show it, `.render("graph.svg")` draws it to a file, `.source` is DOT text.

    Raises
    ------
    RuntimeError
        If a tensor does not require grad.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> print(ag.autograd.graph.draw(ag.exp(x)).source.splitlines()[0])
    digraph arraygrad {
    """
    roots = _roots(t, "draw")
    nodes = list(walk(roots))
    numbers = {node: number for number, node in enumerate(nodes)}
    labels = [_label(node) for node in nodes]
    boxed = {number for node, number in numbers.items() if isinstance(node, AccumulateGrad)}
    edges = [
        (numbers[node], numbers[child], str(input_nr) if len(child.input_metadata) > 1 else "")
        for node in nodes
        for child, input_nr in node.next_functions
        if child is not None
    ]
    lines = ["digraph arraygrad {", '  node [fontname="monospace", fontsize=10];']
    for number, label in enumerate(labels):
        look = "shape=box, style=filled, fillcolor=lightgrey" if number in boxed else "shape=ellipse"
        lines.append(f"  n{number} [label={_quote(label)}, {look}];")
    for start, end, text in edges:
        port = f" [label={_quote(text)}]" if text else ""
        lines.append(f"  n{start} -> n{end}{port};")
    lines.append("}")
    return Drawing("\n".join(lines) + "\n", labels, edges, boxed)


def _array_bytes(value):
    """(identity, bytes) of a saved array; None for saved values that are no arrays."""
    raw = value.array if isinstance(value, Tensor) else value
    size = getattr(raw, "nbytes", None)
    if size is None:
        try:
            backend = backend_of(raw)
        except TypeError:
            return None
        meta = backend.meta(raw)
        count = meta.size
        if count is None or not meta.is_floating:
            return None
        bits = backend.xp.finfo(meta.dtype).bits * (2 if meta.is_complex else 1)
        size = count * bits // 8
    return id(raw), size


def summary(t):
    """A text table of the graph behind a tensor: how many nodes of each name, and what they keep.

    Bytes are those of the arrays that nodes save for the backward run. An array that several nodes save is counted
    once, at the first of them. Nodes whose saved values were freed keep nothing.

    Parameters
    ----------
    t : Tensor, GradientEdge, Node, or an iterable of them

    Returns
    -------
    str
        One line per node name, most bytes first, and a line of totals.

    Raises
    ------
    RuntimeError
        If a tensor does not require grad.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> print(ag.autograd.graph.summary((x * x).sum()))
    node               count     saved bytes
    MulBackward            1              16
    AccumulateGrad         1               0
    SumBackward            1               0
    total                  3              16
    """
    rows = {}
    counted = {}  # id -> the array itself, so that an id is not given to another one meanwhile
    for node in walk(_roots(t, "summary")):
        row = rows.setdefault(node.name(), [0, 0])
        row[0] += 1
        for value in _saved_values(node):
            known = _array_bytes(value)
            if known is not None and known[0] not in counted:
                counted[known[0]] = value.array if isinstance(value, Tensor) else value
                row[1] += known[1]
    table = [(name, count, size) for name, (count, size) in rows.items()]
    table.sort(key=lambda row: (-row[2], -row[1], row[0]))
    table.append(("total", sum(row[1] for row in table), sum(row[2] for row in table)))
    width = max(len(row[0]) for row in table)
    lines = [f"{'node':<{width}} {'count':>9} {'saved bytes':>15}"]
    lines += [f"{name:<{width}} {count:>9,} {size:>15,}" for name, count, size in table]
    return "\n".join(lines)


def _saved_values(node):
    try:
        return tuple(node.saved.values())
    except RuntimeError:  # already freed
        return ()
