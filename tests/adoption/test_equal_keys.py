"""Equal numbers in sets, counters and dicts are one key when recorded, as in a plain call.

In caches they are two: an equal key is computed anew, with its right gradient. Where it cannot be told which one it is,
they are two, and a warning says so.
"""

from __future__ import annotations

import functools
import sys
import types
import warnings

import numpy as np
import pytest

import arraygrad as ag

HEAD = "import collections, dataclasses, functools, math\nimport numpy as np\nfrom collections import Counter\n"
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
# Operations of sets and dicts beside a number; those that follow are compared in C, without a hash asked for.
OPERATIONS = {
    "objects in a set": "return x * len({Pair(a, 1), Pair(C, 1), Pair(2.0 * x, 1)})",
    "objects compared": "return x * (2.0 if Pair(a, 1) == Pair(C, 1) else 3.0)",
    "objects in a list": "return x * (2.0 if Own(C) in [Own(a), Own(2.0 * x)] else 3.0)",
    "objects counted": "return x * Counter([Own(a), Own(C)]).most_common(1)[0][1]",
    "minus": "return x * sum({a, 2.0 * x} - {C})",
    "and": "return x * (1 + sum({a, 2.0 * x} & {C, 7.0}))",
    "and, reversed": "return x * (1 + sum({C, 7.0} & {a, 2.0 * x}))",
    "xor": "return x * len({a, 2.0 * x} ^ {C})",
    "minus in place": "s = {a, 2.0 * x}\n    s -= {C}\n    return x * sum(s)",
    "discard": "s = {a, 2.0 * x}\n    s.discard(C)\n    return x * sum(s)",
    "remove": "s = {a, 2.0 * x, C}\n    s.remove(C)\n    return x * sum(s)",
    "isdisjoint of a display": "return x * (2.0 if {a, 2.0 * x}.isdisjoint({C}) else 3.0)",
    "issubset": "return x * (2.0 if {a}.issubset({C, 2.0}) else 3.0)",
    "issuperset": "return x * (2.0 if {a, 2.0 * x}.issuperset([C]) else 3.0)",
    "less or equal": "return x * (2.0 if {a} <= {C, 2.0} else 3.0)",
    "equal sets": "return x * (2.0 if {a} == {C} else 3.0)",
    "equal dicts": "return x * (2.0 if {a: 1} == {C: 1} else 3.0)",
    "difference_update": "s = set([a, 2.0 * x])\n    s.difference_update([C])\n    return x * sum(s)",
    "intersection": "return x * (1 + sum({a, 2.0 * x}.intersection([C, 9.0])))",
    "a number in a set": "s = {a, 2.0 * x}\n    return x * (2.0 if C in s else 3.0)",
    "seen": "s = set()\n    t = 0.0\n    for v in (a, 2.0 * x, C):\n        if v in s:\n            continue\n"
    "        s.add(v)\n        t = t + v\n    return t * x",
    "dict of zip": "return x * dict(zip([a, 2.0 * x], [1.0, 2.0])).get(C, 9.0)",
    "dict comprehension": "d = {v: i + 1 for i, v in enumerate([a, 2.0 * x])}\n    return x * d.get(C, 9.0)",
    "pop": "d = {a: 3.0}\n    return x * d.pop(C, 8.0)",
    "count of a Counter": "return x * (1 + Counter([a, 2.0 * x])[C])",
    "most common": "return x * Counter([a, C, 3.0]).most_common(1)[0][1]",
    "counts of Counters": "return x * (1 + sum((Counter([a, a]) - Counter([C])).values()))",
    "tuple": "d = {(C, 2.0): 3.0}\n    return x * d.get((a, 2.0), 4.0)",
    "tuple in a set": "return x * (2.0 if (C, 1.0) in {(a, 1.0)} else 3.0)",
    "sorted set": "return x * sorted(set([a, 2.0 * x, C]))[0]",
    "index": "return x * (1 + [3.0, a, C].index(C))",
    "count": "s = {a}\n    return x * (1 + [3.0, a, C].count(a))",
    "list": "s = {a}\n    return x * (2.0 if C in list(s) else 3.0)",
    "mode": "import statistics\n    return x * statistics.mode([a, C, 3.0])",
    "grouped": "d = {}\n    for v in (a, C):\n        d.setdefault(v, []).append(v)\n    return x * len(d)",
}
CACHES = {
    "filled by a plain number": "d = {0.7: 1.0}\n    if a not in d:\n        d[a] = a * a\n    return x * d[a]",
    "got": "d = {0.7: 1.0}\n    v = d.get(a)\n    if v is None:\n        v = d[a] = a * a\n    return x * v",
    "dict": "d = {}\n    t = 0.0\n    for v in (a, b, a):\n        if v not in d:\n            d[v] = math.sin(v)\n"
    "        t = t + d[v]\n    return t",
    "attribute": "h = Holder()\n    h.d = {}\n    h.d[a] = a * a\n    h.d[b] = a * a\n    return h.d[b]",
    "sentinel": "d = {}\n    t = 0.0\n    for v in (a, b, a):\n        y = d.get(v, -1.0)\n        if y < 0.0:\n"
    "            d[v] = y = math.exp(v)\n        t = t + y\n    return t",
    "error": "d = {}\n    t = 0.0\n    for v in (a, b, a):\n        try:\n            y = d[v]\n"
    "        except KeyError:\n            y = d[v] = math.exp(v)\n        t = t + y\n    return t",
    "tuples": "d = {}\n    t = 0.0\n    for v in (a, b, a):\n        k = (v, 1)\n        if k not in d:\n"
    "            d[k] = math.exp(v)\n        t = t + d[k]\n    return t",
    "decorator": "return kept(a) + kept(b) * 2.0 + kept(a)",
    "decorator, a number before": "return kept(0.7) + kept(b) * 2.0 + kept(a)",
    "lru_cache of objects": "return of_objects(Pair(a, 1)) + of_objects(Pair(b, 1)) * 2.0 + of_objects(Pair(0.7, 1))",
    "dict of objects": "d = {}\n    t = 0.0\n    for v in (Pair(a, 1), Pair(b, 1), Own(a), Own(b)):\n"
    "        if v not in d:\n            d[v] = math.exp(v.first)\n        t = t + d[v]\n    return t",
    "lru_cache, a number before": "return known(0.7) + known(a) + known(b) * 2.0",
    "lru_cache, a number after": "return known(b) * 2.0 + known(0.7)",
    "lru_cache by a name": "g = known\n    return g(a) + g(*[b]) * 3.0 + g(0.7)",
    "lru_cache": "return known(a) + known(b) + known(a)",
    "same": "s = {a, a}\n    s.add(a)\n    return sum(s) if a in s else 0.0",
    "steps": "t = 0.0\n    for i in range(4):\n        t = t + sum({x * 1.0, x * 3.0})\n    return t",
    "comprehensions": "t = 0.0\n    for i in range(4):\n        t = t + sum({v * x for v in (1.0, 2.0)})\n    return t",
}
MORE = """
KNOWN = np.array([0.7])

class Holder:
    pass

@dataclasses.dataclass(frozen=True)
class Pair:
    first: float
    second: float

class Own:
    def __init__(self, first):
        self.first = first

    def __hash__(self):
        return hash(self.first)

    def __eq__(self, other):
        return type(other) is Own and other.first == self.first

@functools.lru_cache(maxsize=None)
def of_objects(v):
    return math.exp(v.first) * v.second

@functools.lru_cache(maxsize=None)
def known(v):
    return math.exp(v)

def keep(f):
    d = {}

    @functools.wraps(f)
    def g(*args):
        if args not in d:
            d[args] = f(*args)
        return d[args]

    return g

@keep
def kept(v):
    return math.exp(v)
"""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """(f, value, gradient, the warnings of keys) of the function f(x) with a body, in a file."""

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
            value, gradient = ag.value_and_grad(module.f)(0.7)
        return module.f, float(value), float(gradient), [str(w.message) for w in found if "equal key" in str(w.message)]

    yield run
    ag.adopt.clear()  # it knows the functions, and with them what their caches keep


def slope(f, x=0.7, h=1e-5):
    return (f(x + h) - f(x - h)) / (2.0 * h)


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", SETS)
def test_keys_are_as_in_the_plain_call(told, name, other):
    f, value, gradient, texts = told(SETS[name], OTHERS[other])
    assert texts == []
    assert value == f(0.7)
    assert gradient == pytest.approx(slope(f), rel=1e-6)


@pytest.mark.parametrize("constant", ["0.7", "0.9", "np.float64(0.7)", "KNOWN[0]"])
@pytest.mark.parametrize("name", [*BESIDE_PLAIN, *OPERATIONS])
def test_a_plain_number_is_a_key_as_in_the_plain_call(told, name, constant):
    """What the plain call gives at the point; its slope is that of numbers that stay equal."""
    body = {**BESIDE_PLAIN, **OPERATIONS}[name].replace("Counter", "counter").replace("C", constant)
    f, value, gradient, texts = told(body.replace("counter", "Counter"), OTHERS["equal"])
    assert texts == []
    assert value == f(0.7)
    if constant == "0.9":
        assert gradient == pytest.approx(slope(f), rel=1e-6)


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", CACHES)
def test_caches_are_right_and_say_nothing(told, name, other):
    f, _, gradient, texts = told(CACHES[name], OTHERS[other])
    assert texts == []
    if "0.7:" not in CACHES[name]:  # of one that holds another value a plain call takes that
        assert gradient == pytest.approx(slope(f), rel=1e-6)


def test_the_ways_out_are_right(told):
    for body in (
        "return np.unique(np.array([a, b])).sum()",
        "s = []\n    for v in (a, b):\n        if v not in s:\n            s.append(v)\n    return sum(s)",
    ):
        f, _, gradient, texts = told(body, OTHERS["equal"])
        assert texts == []
        assert gradient == pytest.approx(slope(f), rel=1e-6)


def test_what_cannot_be_told_is_said_unless_the_policy_is_off(told):
    untold = "d = {0.7: 1.0}\n    return x * [d.get, d.pop][0](a, 2.0)"
    texts = told(untold, OTHERS["equal"])[3]
    assert texts
    assert all("keys_of_a_program.py:" in text and "numpy.unique" in text for text in texts)
    with ag.number_policy("off"):
        assert told(untold, OTHERS["equal"])[3] == []
    assert told("return x * len({len(str(a)), len(str(b))})", OTHERS["equal"])[3] == []
    assert len({ag.tensor(1.0), ag.tensor(1.0)}) == 2


# Keys that are elements of arrays, or results of NumPy's: in a plain call they are numbers of NumPy's.
OF_ARRAYS = {
    "item": lambda x: x[0],
    "computed": lambda x: x[0] * 2.0,
    "sum": lambda x: np.sum(x),
    "float": lambda x: float(x[0]),
    "loop": lambda x: next(iter(x)),
    "single precision": lambda x: np.float32(1.5) * x.astype(np.float32)[0],
    "tuple": lambda x: (x[0], 1),
}


@functools.cache
def _squared(key):
    key = key[0] if isinstance(key, tuple) else key
    return key * key


KEPT: dict = {}


def _kept_in_a_dict(key):
    if key not in KEPT:
        KEPT[key] = _squared.__wrapped__(key)
    return KEPT[key]


class _Filling(dict):
    def __missing__(self, key):
        self[key] = found = _squared.__wrapped__(key)
        return found


class _Method:
    def __init__(self):
        self.by = 1.0

    @functools.cache  # noqa: B019 (emptied after each test)
    def squared(self, key):
        return self.by * _squared.__wrapped__(key)


FILLING = _Filling()
OBJECT = _Method()
PARTIAL = functools.partial(_squared)
MEMOS = {
    "lru_cache": lambda key: _squared(key),
    "dict": lambda key: _kept_in_a_dict(key),
    "partial": lambda key: PARTIAL(key),
    "method": lambda key: OBJECT.squared(key),
    "missing": lambda key: FILLING[key],
}


@pytest.fixture
def _emptied():
    yield
    for cache in (KEPT, FILLING):
        cache.clear()
    _squared.cache_clear()
    _Method.squared.cache_clear()
    ag.adopt.clear()  # what adoption knows of the written dict holds what was in it


@pytest.mark.parametrize("name", MEMOS)
@pytest.mark.parametrize("key", OF_ARRAYS)
@pytest.mark.parametrize("before", ["filled", "empty"])
@pytest.mark.usefixtures("_emptied")
def test_a_cache_under_elements_of_arrays_computes_anew(key, name, before):
    cache = MEMOS[name]
    x = np.array([2.0 + 0.01 * list(OF_ARRAYS).index(key), 1.0])
    if before == "filled":
        cache(OF_ARRAYS[key](x))
    for _ in range(2):  # what the first gradient has put there is a constant, too
        gradient = ag.grad(lambda x: cache(OF_ARRAYS[key](x)) + x[1])(x)
        expected = ag.grad(lambda x: _squared.__wrapped__(OF_ARRAYS[key](x)) + x[1])(x)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6)
        assert gradient[0] > 0.0
