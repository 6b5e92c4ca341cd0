"""Caches that an earlier call has filled, whose keys are whole numbers or text made of what is being differentiated."""

import linecache
import warnings

import numpy as np
import pytest

import arraygrad as ag

X = 0.7371234
HEAD = "import math\nimport numpy as np\nCACHE = {}\nTABLE = {}\nclass Model:\n    def __init__(self): self.kept = {}\n"

# How a key is made of x.
KEYS = {
    "int": "int(x * 1e6)",
    "floor": "math.floor(x * 1e6)",
    "round": "round(x * 1e6)",
    "ceil": "math.ceil(x * 1e6)",
    "str": "str(x)",
    "repr": "repr(x)",
    "f-string": "f'{x:.6f}'",
    "format": "'{:.6f}'.format(x)",
    "percent": "'%.6f' % x",
    "tuple": "(int(x * 1e6), 'a')",
    "tuple of text": "('a', f'{x:.9f}')",
    "nested": "int(round(x * 1e6))",
}
# How the cache is asked and filled under the key k.
FILLS = {
    "not in": "    if k not in C:\n        C[k] = x * x\n    return x * C[k]\n",
    "in": "    if k in C:\n        return x * C[k]\n    C[k] = x * x\n    return x * C[k]\n",
    "get": "    v = C.get(k)\n    if v is None:\n        v = C[k] = x * x\n    return x * v\n",
    "walrus": "    if (v := C.get(k)) is None:\n        v = x * x\n        C[k] = v\n    return x * v\n",
    "try": "    try:\n        return x * C[k]\n    except KeyError:\n        C[k] = x * x\n        return x * C[k]\n",
    "setdefault": "    return x * C.setdefault(k, x * x)\n",
    "array": "    if k not in C:\n        C[k] = np.array([x, x * x])\n    return x * C[k][1]\n",
    "tuple": "    if k not in C:\n        C[k] = (1.0 * x, x * x)\n    return x * C[k][1]\n",
    "a name": "    if k not in C:\n        value = x * x\n        C[k] = value\n    return x * C[k]\n",
}
PLACES = {"global": "CACHE", "attribute": "m.kept", "default": "c"}


def program(key, fill, place):
    """(f, what empties its cache) of a program in a file of its own."""
    body = f"    k = {key}\n{fill.replace('C', 'cache' if place == 'alias' else PLACES[place])}"
    text = f"{HEAD}m = Model()\ndef f(x, c=TABLE):\n{body}"
    names = {"__name__": "cached"}
    file = f"cached_{abs(hash(text))}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)
    return names["f"], lambda: (names["CACHE"].clear(), names["TABLE"].clear(), names["m"].kept.clear())


@pytest.fixture(autouse=True)
def _forget():
    yield
    ag.adopt.clear()


def told(f):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        gradient = ag.grad(f)(X)
    return float(gradient), [str(one.message) for one in found if "a cache holds a value" in str(one.message)]


MEMBERS = [(key, fill, "global") for key in KEYS for fill in FILLS]
MEMBERS += [("int", fill, place) for fill in FILLS for place in PLACES if place != "global"]


@pytest.mark.parametrize(("key", "fill", "place"), MEMBERS)
def test_a_filled_cache_is_told_and_an_empty_one_is_right(key, fill, place):
    f, empty = program(KEYS[key], FILLS[fill], place)
    gradient, texts = told(f)  # the call fills it
    assert texts == []
    assert gradient == pytest.approx(3 * X**2, rel=1e-12)
    empty()
    f(X)  # a plain call fills it
    gradient, texts = told(f)
    assert len(texts) == 1
    assert texts[0].startswith("cached_")
    assert gradient == pytest.approx(f(X) / X, rel=1e-12)  # that of the constant
    empty()  # the way out
    gradient, texts = told(f)
    assert texts == []
    assert gradient == pytest.approx(3 * X**2, rel=1e-12)


@pytest.mark.parametrize("key", KEYS)
def test_what_an_earlier_gradient_has_put_there_is_told(key):
    f, _ = program(KEYS[key], FILLS["not in"], "global")
    assert told(f)[1] == []
    assert len(told(f)[1]) == 1


@pytest.mark.parametrize(
    "body",
    [
        "    k = int(x * 1e6)\n    if k not in CACHE:\n        CACHE[k] = math.sqrt(k)\n    return x * CACHE[k]\n",
        "    k = 7\n    if k not in CACHE:\n        CACHE[k] = math.sqrt(k) * 1.0\n    return x * CACHE[k] + int(x)\n",
        "    c = {}\n    k = int(x * 10)\n    c[k] = c[k] if k in c else 2.0\n    return x * c[k]\n",
        "    h = np.zeros(9)\n    h[int(x * 10)] += 1.0\n    return x * h[int(x * 10)]\n",
        "    k = int(x * 10)\n    if k not in CACHE:\n        CACHE[k] = []\n    return x * len(CACHE[k])\n",
        "    k = x\n    if k not in CACHE:\n        CACHE[k] = x * x\n    return x * CACHE[k]\n",
    ],
)
def test_what_is_no_such_cache_says_nothing(body):
    names = {"__name__": "cached"}
    text = f"{HEAD}def f(x):\n{body}"
    linecache.cache["uncached.py"] = len(text), None, text.splitlines(keepends=True), "uncached.py"
    exec(compile(text, "uncached.py", "exec"), names)
    for _ in range(2):
        names["f"](X)
        assert told(names["f"])[1] == []


@pytest.mark.parametrize("fill", FILLS)
def test_the_values_are_those_of_the_plain_call(fill):
    f, empty = program(KEYS["int"], FILLS[fill], "global")
    plain = f(X)
    empty()
    assert ag.value_and_grad(f)(X)[0] == plain
    assert type(f(0.5)) in (float, np.float64)
    with pytest.raises(TypeError, match="NoneType"):
        f(None)
