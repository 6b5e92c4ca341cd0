"""Followed values that are equal by chance: caches and branches that take them for one are told."""

import functools
import linecache
import math
import warnings

import numpy as np
import pytest

import arraygrad as ag

HEAD = """import math, hashlib, zlib
import numpy as np
CACHE = {}
class Model:
    def __init__(self): self.kept = {}
def key_of(*args): return repr(args)
def cut(v): return int(v * 1e6)
"""
# How the key of a cache is made of v.
KEYS = {
    "int": "int(v * 1e6)",
    "floor": "math.floor(v * 1e6)",
    "str": "str(v)",
    "repr": "repr(v)",
    "hash": "hash(v)",
    "f-string": "f'{v:.6f}'",
    "format": "'{:.6f}'.format(v)",
    "function format": "format(v, '.6f')",
    "percent": "'%.6f' % v",
    "tuple": "(int(v * 1e6), 'a')",
    "tuple of text": "('a', f'{v:.9f}')",
    "repr of a tuple": "repr((v,))",
    "str of a list": "str([v])",
    "str of a dict": "str({'a': v})",
    "joined": "repr(v) + '|'",
    "join": "'_'.join(map(str, (v, 1.5)))",
    "join of a generator": "'_'.join(str(t) for t in (v, 1.5))",
    "format_map": "'{a}'.format_map({'a': v})",
    "replaced": "str(v).replace('.', 'p')",
    "cut text": "str(v)[:8]",
    "lower": "f'{v:.5E}'.lower()",
    "tolist": "str(np.atleast_1d(v).tolist())",
    "array2string": "np.array2string(np.atleast_1d(v), precision=12)",
    "bytes": "repr(v).encode()",
    "digest": "hashlib.md5(repr(v).encode()).hexdigest()",
    "checksum": "zlib.crc32(repr(v).encode())",
    "hash of a tuple": "hash((v, 'a'))",
    "tuple of cuts": "tuple(int(t * 1e6) for t in (v, 1.5))",
    "frozenset": "frozenset([int(v * 1e6)])",
    "function": "key_of(v)",
    "function of a list": "key_of(*[v, 2])",
    "function that cuts": "cut(v)",
    "nested tuple": "(('a', cut(v)), 3)",
}
# How the cache C is asked and filled under the key k.
FILLS = {
    "not in": "    if k not in C:\n        C[k] = v * v\n    return C[k]\n",
    "in": "    if k in C:\n        return C[k]\n    C[k] = v * v\n    return C[k]\n",
    "at once": "    if k in C:\n        return C[k]\n    found = v * v\n    C[k] = found\n    return found\n",
    "get": "    found = C.get(k)\n    if found is None:\n        found = C[k] = v * v\n    return found\n",
    "try": "    try:\n        return C[k]\n    except KeyError:\n        C[k] = v * v\n        return C[k]\n",
    "setdefault": "    return C.setdefault(k, v * v)\n",
    "tuple": "    if k not in C:\n        C[k] = (1.0 * v, v * v)\n    return C[k][1]\n",
}
PLACES = {"closure": "C = {}\n", "global": "CACHE.clear()\n", "attribute": "m = Model()\n"}
NAMES = {"closure": "C", "global": "CACHE", "attribute": "m.kept"}


def keyed(key, fill, place):
    """f(x) of x[0]**2 + 3 * x[1]**2 by a cache that lives in the call."""
    inner = f"    k = {KEYS[key]}\n{FILLS[fill].replace('C', NAMES[place]) if place != 'closure' else FILLS[fill]}"
    inner = "".join(f"    {line}\n" for line in inner.splitlines())
    result = "    return g(x[0]) + 3.0 * g(x[1]) + 0.0 * g(x[0])\n"
    text = f"{HEAD}def f(x):\n    {PLACES[place]}    def g(v):\n{inner}{result}"
    names = {"__name__": "equal"}
    file = f"equal_{abs(hash(text))}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)
    return names["f"]


def last_value(x):
    last, kept = None, None

    def g(v):
        nonlocal last, kept
        if last is None or v != last:
            last, kept = v, v * v
        return kept

    return g(x[0]) + 3.0 * g(x[1])


def in_a_list(x):
    keys, values = [], []

    def g(v):
        if v in keys:
            return values[keys.index(v)]
        keys.append(v)
        values.append(v * v)
        return values[-1]

    return g(x[0]) + 3.0 * g(x[1])


def searched(equal, x):
    known = []

    def g(v):
        for key, value in known:
            if equal(key, v):
                return value
        known.append((v, np.sum(v * v)))
        return known[-1][1]

    return g(x[0]) + 3.0 * g(x[1])


def on_an_object(x):
    class Model:
        last = None

    m = Model()

    def g(v):
        if m.last == v:
            return m.value
        m.last, m.value = v, v * v
        return m.value

    return g(x[0]) + 3.0 * g(x[1])


PROGRAMS = {
    "last value": last_value,
    "list": in_a_list,
    "object": on_an_object,
    "array_equal": functools.partial(searched, np.array_equal),
    "isclose": functools.partial(searched, np.isclose),
    "allclose": functools.partial(searched, np.allclose),
    "math.isclose": functools.partial(searched, lambda a, b: math.isclose(a, b)),
    "==": functools.partial(searched, lambda a, b: a == b),
    "not !=": functools.partial(searched, lambda a, b: not a != b),
    "all": functools.partial(searched, lambda a, b: (a == b).all()),
}


def told(f, x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        gradient = ag.grad(f)(np.array(x))
    ours = [str(one.message) for one in found]
    assert all("are equal here, and have different derivatives" in text for text in ours), ours
    return gradient, ours


@pytest.fixture(autouse=True)
def _forget():
    yield
    ag.adopt.clear()


def hold(f):
    """Told where two are equal; right, and silent, where none are, and by the way out that the warning names."""
    assert told(f, [1.0, 1.0])[1]
    assert told(f, [0.7, 0.7])[1]
    gradient, texts = told(f, [0.7, 1.3])
    assert texts == []
    np.testing.assert_allclose(gradient, [1.4, 7.8])
    gradient, texts = told(f, [1.0, 1.0 + 1e-5])
    assert texts == []
    np.testing.assert_allclose(gradient, [2.0, 6.0], rtol=1e-4)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("key", KEYS)
def test_a_cache_by_text_whole_numbers_or_hashes_that_two_values_share_is_told(key, fill, place):
    hold(keyed(key, fill, place))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_cache_that_is_asked_by_a_comparison_is_told(name):
    if name in ("isclose", "allclose", "math.isclose"):  # 1 and 1 + 1e-5 are close
        assert told(PROGRAMS[name], [1.0, 1.0])[1]
        gradient, texts = told(PROGRAMS[name], [0.7, 1.3])
        assert texts == []
        np.testing.assert_allclose(gradient, [1.4, 7.8])
    else:
        hold(PROGRAMS[name])


def log_mean(a, b):
    return a if a == b else (a - b) / np.log(a / b)


def test_a_branch_that_holds_only_where_two_values_are_equal_is_told():
    gradient, texts = told(lambda x: log_mean(x[0], x[1]), [2.0, 2.0])
    assert len(texts) == 1
    near = told(lambda x: log_mean(x[0], x[1]), [2.0, 2.0 + 1e-5])
    assert near[1] == []
    np.testing.assert_allclose(near[0], [0.5, 0.5], atol=1e-4)
    np.testing.assert_allclose(gradient, [1.0, 0.0])  # that of the branch


# What is no accident, or decides nothing.
def converged(x):
    y = x[0]
    while True:
        new = 0.5 * (y + x[1] / y)
        if new == y:
            return new
        y = new


def converged_value(x):
    y, before = x[0], None
    for _ in range(60):
        y = 0.5 * (y + x[1] / y)
        value = y * y
        if before is not None and value == before:
            break
        before = value
    return y


def checked(x):
    assert x[0] == x[1], "two masses"
    return x[0] * x[1]


def raising(x):
    if x[0] != x[1]:
        raise ValueError("two masses")
    return x[0] * x[1]


def raised_where_equal(x):
    if not np.allclose(x[0], x[1]):
        raise ValueError("two masses")
    return x[0] * x[1]


def symmetric(x):
    a = np.array([[x[0], x[1]], [x[1], x[0]]])
    return np.sum(np.linalg.solve(a + np.eye(2), x)) if np.array_equal(a, a.T) else np.sum(a)


def same_element(x):
    kept = {}
    for i in (0, 1, 0):
        v = x[i]
        kept.setdefault(f"{i} {v:.3f}", v * v)
    return sum(kept.values())


def steps(x):
    return sum(v for v in (x * 2.0) if v == v)


SILENT = [converged, converged_value, checked, raising, raised_where_equal, symmetric, same_element, steps]


# Caches under keys that are made of no value, or of the same one each time.
QUIET = {
    "length": "k = len(w)",
    "shape": "k = str(w.shape)",
    "dtype": "k = str(w.dtype)",
    "number": "k = str(n)",
    "computed number": "k = (n + 1, 'a')",
    "type": "k = type(w).__name__",
    "one value": "k = repr(tuple(z))",
}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("key", QUIET)
def test_a_cache_under_keys_of_no_value_says_nothing(key, fill):
    inner = f"        {QUIET[key]}\n" + "".join(f"    {line}\n" for line in FILLS[fill].splitlines())
    text = f"{HEAD}def f(x):\n    C = {{}}\n    z = x * 2.0\n    v = x[0] * x[1]\n    def g(w, n):\n{inner}"
    text += "    return g(x[:1], 1) + g(x[1:], 1) + g(x[:1], 1)\n"
    names = {"__name__": "quiet"}
    file = f"quiet_{abs(hash(text))}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)
    gradient, texts = told(names["f"], [0.7, 0.7])
    assert texts == []
    np.testing.assert_allclose(gradient, [6 * 0.7**3] * 2)


def remembered(function):
    known = {}

    @functools.wraps(function)
    def called(*args, **kwargs):
        key = repr(args) + str(kwargs)
        if key not in known:
            known[key] = function(*args, **kwargs)
        return known[key]

    called.clear = known.clear
    return called


@pytest.mark.parametrize("spelled", ["position", "keyword"])
def test_a_decorator_that_remembers_by_the_text_of_its_arguments_is_told(spelled):
    @remembered
    def g(v):
        return v * v

    def f(x):
        g.clear()
        if spelled == "keyword":
            return g(v=x[0]) + 3.0 * g(v=x[1])
        return g(x[0]) + 3.0 * g(x[1])

    hold(f)


@pytest.mark.parametrize("f", SILENT, ids=lambda f: f.__name__)
def test_steps_of_iterations_checks_and_one_value_twice_say_nothing(f):
    for x in ([1.3, 1.3], [1.0, 1.0]):
        gradient, texts = told(f, x)
        assert texts == []
        assert np.all(np.isfinite(gradient))


def test_second_derivatives_are_told_too():
    with pytest.warns(UserWarning, match="have different derivatives"):
        ag.hessian(last_value)(np.array([1.0, 1.0]))


def test_values_of_a_call_that_is_not_followed_say_nothing():
    outer = np.array([1.0, 1.0])
    gradient, texts = told(lambda x: x[0] * last_value(outer), [2.0, 2.0])
    assert texts == []
    np.testing.assert_allclose(gradient, [4.0, 0.0])


# Numbers as keys: elements that are taken twice are one, others two.
TABLES = {
    "comprehension": lambda x: {v: v * v for v in x},
    "loop": lambda x: _filled(x),
    "zip": lambda x: dict(zip(x, x * x, strict=True)),
    "set": lambda x: {v: v * v for v in set(x)},
}


def _filled(x):
    table = {}
    for v in x:
        table[v] = v * v
    return table


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("take", ["items", "list", "again"])
def test_a_table_under_numbers_is_asked_by_the_same_numbers(name, take):
    def f(x):
        table = TABLES[name](x)
        keys = x if take == "items" else list(x) if take == "list" else [x[i] for i in range(len(x))]
        return table[keys[0]] + 3.0 * table[keys[1]]

    gradient, texts = told(f, [0.7, 1.3])
    assert texts == []
    np.testing.assert_allclose(gradient, [1.4, 7.8])
