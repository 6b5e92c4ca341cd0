"""Layered pictures: no two nodes overlap, arrows lead down, and what could be drawn without crossings is."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from arraygrad.autograd import pictures

SVG = "{http://www.w3.org/2000/svg}"


def boxes(text):
    """(x, y, width, height) of each node's outline, in the order of the nodes."""
    found = ElementTree.fromstring(text).findall(f"{SVG}rect")[1:]  # the first is the ground
    return np.array([[float(one.get(name)) for name in ("x", "y", "width", "height")] for one in found])


def ends(text):
    """(start, end) of each arrow."""
    found = []
    for path in ElementTree.fromstring(text).findall(f"{SVG}path"):
        numbers = [float(number) for number in re.findall(r"-?\d+\.\d", path.get("d"))]
        found.append((numbers[:2], numbers[-2:]))
    return np.array(found)


def random_graph(rng, count):
    """Edges of a graph without cycles."""
    return [(int(rng.integers(0, end)), end, "") for end in range(1, count) for _ in range(rng.integers(1, 3))]


@pytest.mark.parametrize("seed", range(12))
def test_nodes_do_not_overlap_and_lie_within_the_picture(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 40))
    labels = ["x" * int(rng.integers(1, 20)) + "\ny" * int(rng.integers(0, 3)) for _ in range(count)]
    text = pictures.svg(labels, random_graph(rng, count))
    found = boxes(text)
    picture = ElementTree.fromstring(text)
    assert len(found) == count
    assert found.min() >= 0.0
    assert (found[:, 0] + found[:, 2]).max() <= float(picture.get("width"))
    assert (found[:, 1] + found[:, 3]).max() <= float(picture.get("height"))
    for i, (x, y, width, height) in enumerate(found):
        for other_x, other_y, other_width, other_height in found[:i]:
            apart = x >= other_x + other_width or other_x >= x + width
            assert apart or y >= other_y + other_height or other_y >= y + height


@pytest.mark.parametrize("seed", range(6))
def test_arrows_lead_downwards_from_node_to_node(seed):
    rng = np.random.default_rng(seed)
    edges = random_graph(rng, 20)
    text = pictures.svg([f"node {i}" for i in range(20)], edges)
    found = boxes(text)
    for (start, end, _), ((x, y), (to_x, to_y)) in zip(edges, ends(text), strict=True):
        assert to_y > y
        assert (x, y) == pytest.approx(
            (found[start][0] + found[start][2] / 2, found[start][1] + found[start][3]), abs=0.2
        )
        assert (to_x, to_y) == pytest.approx((found[end][0] + found[end][2] / 2, found[end][1]), abs=0.2)


def test_a_tree_is_drawn_without_crossings():
    # Children in an order that crosses unless it is changed.
    edges = [(0, 1, ""), (0, 2, ""), (1, 6, ""), (2, 3, ""), (2, 4, ""), (1, 5, "")]
    layer = pictures._layers(7, edges)
    joined, _ = pictures._with_invisible(layer, edges)
    rows = pictures._ordered(layer, joined)
    place = {v: i for row in rows for i, v in enumerate(row)}
    assert pictures._crossings(rows, pictures._neighbours(7, joined)[1], place) == 0


def test_a_chain_is_straight():
    found = boxes(pictures.svg(["a", "bb", "ccc"], [(0, 1, ""), (1, 2, "")]))
    middles = found[:, 0] + found[:, 2] / 2
    assert np.ptp(middles) < 0.2


def test_places_are_the_nearest_without_overlap():
    # Pooled: three that want the same place stand around it.
    assert pictures._without_overlap([5.0, 5.0, 5.0], [0.0, 2.0, 4.0]) == [3.0, 5.0, 7.0]
    assert pictures._without_overlap([0.0, 9.0], [0.0, 2.0]) == [0.0, 9.0]
    assert pictures._without_overlap([4.0, 0.0], [0.0, 2.0]) == [1.0, 3.0]


def test_text_is_escaped():
    text = pictures.svg(["<a & b>"], [])
    assert ElementTree.fromstring(text).find(f"{SVG}text").text == "<a & b>"


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="the graph has a cycle"):
        pictures.svg(["a", "b"], [(0, 1, ""), (1, 0, "")])
