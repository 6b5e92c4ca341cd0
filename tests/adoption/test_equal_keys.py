"""Equal numbers in sets, counters and dicts, which are one key in a plain call and two when recorded: told.

Caches, where an equal key is computed anew with its right gradient, and distinct numbers say nothing.
"""

from __future__ import annotations

import sys
import types
import warnings

import pytest

import arraygrad as ag

HEAD = "import math\nimport collections\nimport functools\nimport numpy as np\nfrom collections import Counter\n"
# The same number by another operation, and another number.
OTHERS = {"equal": "b = a * 1.0", "other": "b = a * 2.0"}
# Containers whose content depends on whether a and b are one key.
SETS = {
    "display": "return sum({a, b})",
    "display of three": "return sum({a, 3.0 * x, b})",
    "comprehension": "return sum({v * v for v in (a, b)})",
    "set": "return sum(set([a, b]))",
    "frozenset": "s = [a, b]\n    return sum(frozenset(s))",
    "set of a generator": "return sum(set(v * 1.0 for v in (a, b)))",
    "add": "s = set()\n    s.add(a)\n    s.add(b)\n    return sum(s)",
    "add to an attribute": "h = Holder()\n    h.s = set()\n    for v in (a, b):\n        h.s.add(v)\n"
    "    return sum(h.s)",
    "in": "s = set()\n    t = 0.0\n    for v in (a, b):\n        if v in s:\n            continue\n"
    "        s.add(v)\n        t = t + v\n    return t",
    "not in": "s = set()\n    s.add(a)\n    return a + (b if b not in s else 0.0)",
    "discard": "s = set()\n    s.add(a)\n    s.discard(b)\n    return x + sum(s)",
    "Counter": "return sum(k * math.exp(n) for k, n in Counter([a, b]).items())",
    "counted": "d = collections.Counter()\n    for v in (a, b):\n        d[v] += 1\n"
    "    return sum(k * n * n for k, n in d.items())",
    "defaultdict": "d = collections.defaultdict(list)\n    for v in (a, b):\n        d[v].append(1.0)\n"
    "    return sum(k * len(n) ** 2 for k, n in d.items())",
    "counted where it is": "d = {}\n    for v in (a, b):\n        if v in d:\n            d[v] += 1\n        else:\n"
    "            d[v] = 1\n    return sum(k * n * n for k, n in d.items())",
    "tuples counted": "d = collections.Counter()\n    for k in ((a, 1), (b, 1)):\n        d[k] += 1\n"
    "    return sum(k[0] * n * n for k, n in d.items())",
    "tuples in a defaultdict": "d = collections.defaultdict(int)\n    for v in (a, b):\n        k = (1, v)\n"
    "        d[k] += 1\n    return sum(k[1] * n * n for k, n in d.items())",
    "get": "d = {}\n    for v in (a, b):\n        d[v] = d.get(v, 0) + 1\n"
    "    return sum(k * n * n for k, n in d.items())",
    "setdefault": "d = {}\n    for v in (a, b):\n        d.setdefault(v, []).append(v)\n"
    "    return sum(k * len(n) ** 2 for k, n in d.items())",
}
# The same beside a plain number, C: 0.7, which is equal to `a`, or another one.
BESIDE_PLAIN = {
    "display": "return sum({a, C})",
    "display, the number first": "return x * len({C, 2.0, a})",
    "display of a name": "c = C\n    return sum({a, c})",
    "display of an item": "c = [C]\n    return sum({a, c[0]})",
    "display with a star": "c = [C, 3.0]\n    return sum({a, *c})",
    "set": "return sum(set([a, C]))",
    "set of a name": "s = (C, a)\n    return sum(set(s))",
    "frozenset": "return sum(frozenset([C, a]))",
    "union": "return x * len({C} | {a})",
    "union of a name": "s = {C, 2.0}\n    return x * len(s | {a})",
    "union in place": "s = {C, 2.0}\n    s |= {a}\n    return x * len(s)",
    "difference": "s = {C, 2.0}\n    return x * len(s - {a})",
    "intersection": "return x * (1 + len({C, 2.0} & {a}))",
    "union, the method": "s = {C, 2.0}\n    return x * len(s.union([a]))",
    "update": "s = {C, 2.0}\n    s.update([a])\n    return x * len(s)",
    "isdisjoint": "s = {C, 2.0}\n    return x * (2.0 if s.isdisjoint([a]) else 3.0)",
    "in a set": "s = {C, 2.0}\n    return x * (2.0 if a in s else 3.0)",
    "in a table": "d = {C: 5.0}\n    return x * (d[C] if a in d else 3.0)",
    "get": "d = {C: 5.0}\n    return x * d.get(a, 1.0)",
    "store": "d = {C: 5.0}\n    d[a] = 6.0\n    return x * len(d)",
    "setdefault": "d = {C: 5.0}\n    return x * d.setdefault(a, 1.0)",
    "dict": "return x * len({a: 1.0, C: 2.0})",
    "fromkeys": "return x * len(dict.fromkeys([a, C]))",
    "Counter": "return x * len(Counter([a, C]))",
    "counted": "d = Counter([C])\n    d[a] += 1\n    return x * len(d)",
}
CACHES = {
    "filled by a plain number": "d = {0.7: 1.0}\n    if a not in d:\n        d[a] = a * a\n    return x * d[a]",
    "got": "d = {0.7: 1.0}\n    v = d.get(a)\n    if v is None:\n        v = d[a] = a * a\n    return x * v",
    "dict": "d = {}\n    t = 0.0\n    for v in (a, b, a):\n        if v not in d:\n            d[v] = math.sin(v)\n"
    "        t = t + d[v]\n    return t",
    "attribute": "h = Holder()\n    h.d = {}\n    h.d[a] = a * a\n    h.d[b] = a * a\n    return h.d[b]",
    "lru_cache": "return known(a) + known(b) + known(a)",
    "same": "s = {a, a}\n    s.add(a)\n    return sum(s) if a in s else 0.0",
    "steps": "t = 0.0\n    for i in range(4):\n        t = t + sum({x * 1.0, x * 3.0})\n    return t",
    "comprehensions": "t = 0.0\n    for i in range(4):\n        t = t + sum({v * x for v in (1.0, 2.0)})\n    return t",
}
MORE = "\nclass Holder:\n    pass\n\n@functools.lru_cache(maxsize=None)\ndef known(v):\n    return math.exp(v)\n"


@pytest.fixture
def told(tmp_path, monkeypatch):
    """(gradient, how many warnings of keys) of the function f(x) with a body, in a file."""

    def run(body, other):
        source = f"{HEAD}{MORE}\ndef f(x):\n    a = x * 1.0\n    {other}\n    {body}\n"
        path = tmp_path / "keys_of_a_program.py"
        path.write_text(source)
        module = types.ModuleType("keys_of_a_program")
        module.__file__ = str(path)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(source, str(path), "exec"), vars(module))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            gradient = ag.grad(module.f)(0.7)
        return module.f, float(gradient), [str(w.message) for w in found if "beside an equal one" in str(w.message)]

    yield run
    ag.adopt.clear()  # it knows the functions, and with them what their caches keep


def slope(f, x=0.7, h=1e-5):
    return (f(x + h) - f(x - h)) / (2.0 * h)


@pytest.mark.parametrize("name", SETS)
def test_equal_keys_of_containers_are_told_with_the_line(told, name):
    _, _, texts = told(SETS[name], OTHERS["equal"])
    assert texts, name
    assert all("keys_of_a_program.py:" in text and "numpy.unique" in text for text in texts)


@pytest.mark.parametrize("name", SETS)
def test_distinct_keys_say_nothing_and_are_right(told, name):
    f, gradient, texts = told(SETS[name], OTHERS["other"])
    assert texts == []
    assert gradient == pytest.approx(slope(f), rel=1e-6)


@pytest.mark.parametrize("name", BESIDE_PLAIN)
def test_a_plain_number_equal_to_a_key_is_told(told, name):
    _, _, texts = told(BESIDE_PLAIN[name].replace("C", "0.7").replace("0.7ounter", "Counter"), OTHERS["equal"])
    assert texts, name
    assert all("keys_of_a_program.py:" in text and "numpy.unique" in text for text in texts)


@pytest.mark.parametrize("name", BESIDE_PLAIN)
def test_another_plain_number_says_nothing_and_is_right(told, name):
    f, gradient, texts = told(BESIDE_PLAIN[name].replace("C", "0.9").replace("0.9ounter", "Counter"), OTHERS["equal"])
    assert texts == []
    assert gradient == pytest.approx(slope(f), rel=1e-6)


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", CACHES)
def test_caches_are_right_and_say_nothing(told, name, other):
    f, gradient, texts = told(CACHES[name], OTHERS[other])
    assert texts == []
    if "0.7:" not in CACHES[name]:  # of one that holds another value a plain call takes that
        assert gradient == pytest.approx(slope(f), rel=1e-6)


def test_the_ways_out_are_right(told):
    for body in (
        "return np.unique(np.array([a, b])).sum()",
        "s = []\n    for v in (a, b):\n        if v not in s:\n            s.append(v)\n    return sum(s)",
    ):
        f, gradient, texts = told(body, OTHERS["equal"])
        assert texts == []
        assert gradient == pytest.approx(slope(f), rel=1e-6)


def test_numbers_without_gradients_and_the_policy_off_say_nothing(told):
    with ag.number_policy("off"):
        assert told(SETS["display"], OTHERS["equal"])[2] == []
    assert told("return x * len({len(str(a)), len(str(b))})", OTHERS["equal"])[2] == []
    assert len({ag.tensor(1.0), ag.tensor(1.0)}) == 2
