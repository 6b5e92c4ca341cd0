"""ag.autograd.graph: edges, versions, what runs now, pictures and counts."""

import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import arraygrad as ag
from arraygrad import autograd
from arraygrad.autograd import graph


@pytest.fixture
def x():
    return ag.tensor([1.0, 2.0], requires_grad=True)


def test_ED2_edge_of_a_result_is_its_node(x):
    y = x * 2.0
    edge = graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn
    assert edge.output_nr == y.output_nr == 0
    assert tuple(edge) == (y.grad_fn, 0)


def test_ED2_edge_of_a_leaf_is_its_accumulator(x):
    y = x * 2.0
    assert graph.get_gradient_edge(x).node is y.grad_fn.next_functions[0][0]


def test_edge_of_a_constant_raises():
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(ag.tensor(1.0))


def test_edge_of_an_array_raises():
    with pytest.raises(TypeError, match="t must be a Tensor, got ndarray"):
        graph.get_gradient_edge(np.ones(2))


def test_VC5_increment_version_counts(x):
    other = ag.tensor([1.0])
    before = x.version, other.version
    graph.increment_version(other)
    graph.increment_version([x, other])
    assert (x.version, other.version) == (before[0] + 1, before[1] + 2)


def test_VC5_a_saved_value_that_was_changed_is_noticed(x):
    constant = ag.tensor([3.0, 4.0])
    y = (x * constant).sum()
    constant.array[...] = 0.0
    graph.increment_version(constant)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_increment_version_refuses_arrays():
    with pytest.raises(TypeError, match="expected Tensors, got ndarray"):
        graph.increment_version([np.ones(2)])


def test_outside_of_backward_nothing_is_current():
    assert graph.current_graph_task_id() == -1
    assert graph.current_node() is None


def test_GT5_hooks_see_the_current_task_and_node(x):
    y = x * 2.0
    seen = []
    y.register_hook(lambda g: seen.append((graph.current_graph_task_id(), graph.current_node())))
    y.sum().backward()
    assert seen[0][0] >= 0
    assert seen[0][1] is y.grad_fn


def test_GT7_will_execute(x):
    other = ag.tensor([1.0, 1.0], requires_grad=True)
    a, b = x * 2.0, other * 3.0
    y = (a * b).sum()
    seen = []
    y.register_hook(lambda g: seen.append((graph.will_execute(a.grad_fn), graph.will_execute(b.grad_fn))))
    autograd.backward(y, inputs=[x])
    assert seen == [(True, False)]


def test_FC1_callbacks_need_a_backward_run():
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        graph.queue_callback(lambda: None)


# draw


def test_drawing_shows_each_node_once_with_shape_and_dtype(x):
    y = x * x
    source = graph.draw(y + y).source
    assert source.startswith("digraph arraygrad {")
    assert source.count("MulBackward") == 1
    assert "(2,) float64" in source


def test_drawing_boxes_leaves(x):
    lines = graph.draw(x * 2.0).source.splitlines()
    (leaf,) = [line for line in lines if "AccumulateGrad" in line]
    assert "shape=box" in leaf
    assert sum("shape=box" in line for line in lines) == 1


def test_drawing_has_an_arrow_per_edge(x):
    assert graph.draw(x * x).source.count("->") == 2


def test_drawing_of_a_deep_graph_does_not_recurse(x):
    y = x
    for _ in range(5000):
        y = y + 1.0
    assert graph.draw(y).source.count("AddBackward") == 5000


def test_drawing_of_several_tensors_and_edges(x):
    source = graph.draw([x * 2.0, graph.get_gradient_edge(ag.exp(x))]).source
    assert "MulBackward" in source
    assert "ExpBackward" in source


def test_drawing_is_saved_as_text(x, tmp_path):
    drawing = graph.draw(x * 2.0)
    path = drawing.save(tmp_path / "graph.dot")
    assert path.read_text() == drawing.source == str(drawing)


def test_drawing_of_a_constant_raises():
    with pytest.raises(RuntimeError, match="draw: the tensor does not require grad"):
        graph.draw(ag.tensor(1.0))


def test_drawing_of_an_array_raises():
    with pytest.raises(TypeError, match="expected a Tensor, a GradientEdge or a Node, got float"):
        graph.draw([1.0])


def test_rendering_calls_graphviz(x, tmp_path, monkeypatch):
    graphviz = pytest.importorskip("graphviz", reason="graphviz, which is optional, is not installed")
    monkeypatch.setattr(graphviz.Source, "pipe", lambda self, format: f"{format}:{len(self.source)}".encode())
    drawing = graph.draw(x * 2.0)
    drawing.render(tmp_path / "graph.png", "png")
    assert (tmp_path / "graph.png").read_bytes() == f"png:{len(drawing.source)}".encode()


def test_a_picture_needs_no_graphviz(x, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    drawing = graph.draw(x * 2.0)
    drawing.render(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text() == drawing._repr_svg_()
    assert [text.text for text in texts(drawing)] == ["MulBackward", "(2,) float64", "AccumulateGrad", "(2,) float64"]


def test_another_format_without_graphviz_says_what_to_install(x, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match=r"as png.*pip install graphviz"):
        graph.draw(x * 2.0).render(tmp_path / "graph.png", "png")


def test_a_graph_too_large_to_look_at_is_shown_as_text(x, monkeypatch):
    monkeypatch.setattr(graph.Drawing, "MOST_NODES", 2)
    drawing = graph.draw(ag.exp(x) * 2.0)
    assert drawing._repr_svg_() is None
    assert repr(drawing) == "<Drawing of 3 nodes; .source is DOT text, .render(path) draws it>"


def test_a_picture_numbers_the_inputs_of_a_node_that_has_several():
    q, r = ag.linalg.qr(ag.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True))
    shown = [text.text for text in texts(graph.draw(q.sum() + r.sum()))]
    assert {"0", "1"} <= set(shown)


def texts(drawing):
    """The text elements of a drawing's picture, which is well-formed."""
    picture = ElementTree.fromstring(drawing._repr_svg_())
    return picture.findall("{http://www.w3.org/2000/svg}text")


# summary


def rows(text):
    return {line.split()[0]: [int(n.replace(",", "")) for n in line.split()[1:]] for line in text.splitlines()[1:]}


def test_summary_counts_nodes_by_name(x):
    table = rows(graph.summary(((x + 1.0) + 2.0).sum()))
    assert table["AddBackward"][0] == 2
    assert table["AccumulateGrad"][0] == 1
    assert table["total"][0] == sum(row[0] for name, row in table.items() if name != "total")


def test_summary_counts_bytes_that_nodes_keep():
    x = ag.tensor(np.ones(1000), requires_grad=True)
    assert rows(graph.summary(ag.exp(x)))["ExpBackward"] == [1, 8000]


def test_summary_counts_an_array_once_that_two_nodes_keep():
    x = ag.tensor(np.ones(1000), requires_grad=True)
    assert rows(graph.summary(ag.sin(x) + ag.cos(x)))["total"][1] == 8000


def test_summary_of_a_freed_graph_keeps_nothing():
    x = ag.tensor(np.ones(10), requires_grad=True)
    y = ag.exp(x).sum()
    y.backward()
    assert rows(graph.summary(y))["total"][1] == 0
