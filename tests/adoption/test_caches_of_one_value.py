"""Caches that compare what they were filled for with the value at hand: Note [Stale caches].

The class: who keeps the value (attribute, global, closure, default argument, list, dict) x how it is compared x whether
an earlier plain call or an earlier gradient has filled the cache. A filled cache is told, an empty one is right without
a word, and so is every comparison of two values that the transform follows, or with a number of the program's text.
"""

import linecache
import math
import warnings

import numpy as np
import pytest

import arraygrad as ag

P = np.array([0.7, 1.3])
TEXT = "is equal to it"


@pytest.fixture(autouse=True)
def _functions_are_let_go():
    """Adoption knows a function, and with it what its closure keeps, until it is cleared."""
    yield
    ag.adopt.clear()


def computed(x):
    return np.exp(-np.arange(3.0) / x)


class Kept:
    """Keeps what was computed for one value."""

    def __init__(self, same):
        self.last, self.value, self.same = None, None, same

    def loss(self, p):
        if self.last is None or not self.same(self.last, p[0]):
            self.last, self.value = p[0], computed(p[0])
        return (self.value**2).sum() * p[1] ** 2


class KeptArray:
    def __init__(self, same):
        self.last, self.value, self.same = None, None, same

    def loss(self, p):
        if self.last is None or not self.same(self.last, p):
            self.last, self.value = p.copy(), computed(p[0])
        return (self.value**2).sum() * p[1] ** 2


class InDict(Kept):
    def loss(self, p):
        kept = self.__dict__.setdefault("kept", {"last": None})
        if kept["last"] is None or not self.same(kept["last"], p[0]):
            kept.update(last=p[0], value=computed(p[0]))
        return (kept["value"] ** 2).sum() * p[1] ** 2


def in_a_closure(same):
    last = value = None

    class Closure:
        def loss(self, p):
            nonlocal last, value
            if last is None or not same(last, p[0]):
                last, value = p[0], computed(p[0])
            return (value**2).sum() * p[1] ** 2

    return Closure()


NUMBERS = {
    "==": lambda a, b: a == b,
    "== turned": lambda a, b: b == a,
    "!=": lambda a, b: not a != b,
    "tuples": lambda a, b: (1, a) == (1, b),
    "numpy.equal": lambda a, b: np.equal(a, b),
    "numpy.allclose": lambda a, b: np.allclose(a, b),
    "numpy.isclose": lambda a, b: np.isclose(b, a),
    "abs(difference) <": lambda a, b: abs(a - b) < 1e-12,
    "bound >= numpy.abs": lambda a, b: 1e-12 >= np.abs(b - a),
    "not abs > 0": lambda a, b: not abs(b - a) > 0.0,
    "square": lambda a, b: (a - b) ** 2 <= 1e-20,
    "relative": lambda a, b: abs(a - b) / 3.0 < 1e-9,
    "math.fabs": lambda a, b: math.fabs(a - b) < 1e-9,
    "abs == 0": lambda a, b: abs(a - b) == 0,
    "not abs != 0": lambda a, b: not abs(b - a) != 0.0,
    "difference == 0": lambda a, b: b - a == 0,
    "of a quotient": lambda a, b: abs(b / a - 1) < 1e-9,
    "of a quotient, turned": lambda a, b: not 1e-9 <= abs(1.0 - b / a),
    "relative to one": lambda a, b: abs(a - b) / abs(b) < 1e-9,
    "relative to the other": lambda a, b: abs(a - b) / abs(a) < 1e-9,
    "math.isclose": lambda a, b: math.isclose(a, b),
    "math.isclose, turned": lambda a, b: math.isclose(b, a, rel_tol=1e-12),
}
ARRAYS = {
    "array_equal": lambda a, b: np.array_equal(a, b),
    "(==).all()": lambda a, b: (a == b).all(),
    "numpy.all(==)": lambda a, b: np.all(a == b),
    "not any(!=)": lambda a, b: not np.any(b != a),
    "allclose": lambda a, b: np.allclose(a, b),
    "tuples": lambda a, b: tuple(a) == tuple(b),
    "lists": lambda a, b: list(a) == list(b),
    "norm": lambda a, b: not np.linalg.norm(a - b) > 0,
    "max of abs": lambda a, b: np.max(np.abs(a - b)) < 1e-10,
    "sum of squares": lambda a, b: ((b - a) ** 2).sum() < 1e-20,
    "all of abs": lambda a, b: np.all(np.abs(a - b) < 1e-10),
    "dot": lambda a, b: np.dot(a - b, a - b) < 1e-20,
    "norm, relative": lambda a, b: np.linalg.norm(a - b) / np.linalg.norm(b) < 1e-10,
    "norm, relative to the other": lambda a, b: np.linalg.norm(a - b) / np.linalg.norm(a) < 1e-10,
    "norm == 0": lambda a, b: np.linalg.norm(a - b) == 0,
    "sum of abs == 0": lambda a, b: abs(a - b).sum() == 0,
    "max of abs == 0": lambda a, b: np.max(np.abs(b - a)) == 0,
    "@": lambda a, b: (a - b) @ (a - b) == 0,
    "einsum": lambda a, b: np.einsum("i,i", a - b, a - b) < 1e-20,
    "mean of squares": lambda a, b: np.mean((b - a) ** 2) < 1e-20,
}
CACHES = [
    *[
        (f"{make.__name__}, {name}", make, same)
        for name, same in NUMBERS.items()
        for make in (Kept, InDict, in_a_closure)
    ],
    *[(f"KeptArray, {name}", KeptArray, same) for name, same in ARRAYS.items()],
]


def told(f, *args, **options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        gradient = ag.grad(f, **options)(*args)
    return gradient, [str(w.message) for w in found if TEXT in str(w.message)]


@pytest.mark.parametrize(("make", "same"), [c[1:] for c in CACHES], ids=[c[0] for c in CACHES])
def test_a_cache_that_was_filled_is_told_and_an_empty_one_is_right(make, same):
    gradient, messages = told(make(same).loss, P)
    fresh = Kept(NUMBERS["=="])
    e = 1e-6
    expected = [(Kept(fresh.same).loss(P + s) - Kept(fresh.same).loss(P - s)) / (2 * e) for s in np.eye(2) * e]
    np.testing.assert_allclose(gradient, expected, rtol=1e-7)
    assert messages == []
    filled = make(same)
    filled.loss(P)
    _, messages = told(filled.loss, P)
    assert messages
    assert "self.last = None" in messages[0]


def away(p, bound=1e-3):
    return p[0] ** 2 if abs(p[0] - 0.7) < bound else p[1]


def two_steps(p):
    x, before = p[0], p[1]
    while abs(x - before) > 0.0:
        before, x = x, 0.5 * (x + p[1] / x)
    return x


def of_a_norm(p):
    return (p * p).sum() if np.linalg.norm(p - p) < 1e-9 else p[1]


def of_zero(p, bound=1e-9):
    q = p * 0.0
    return p[0] if np.linalg.norm(q) < bound else p[1]


def guarded(p, center=P):
    r = np.linalg.norm(p - center)
    return p[0] if r == 0 else r


@pytest.mark.parametrize("f", [away, two_steps, of_a_norm, of_zero, guarded])
def test_sizes_that_ask_no_cache_are_not_told(f):
    assert told(f, P)[1] == []


def test_the_optimiser_of_a_filled_cache_is_told():
    class Fluid:
        temperature, density = -1.0, None

        def update(self, temperature):
            if abs(temperature - self.temperature) > 1e-12:
                self.temperature, self.density = temperature, 1000.0 / (1.0 + 2e-4 * (temperature - 20.0) ** 2)

    fluid = Fluid()

    def cost(p):
        fluid.update(p[0])
        return (fluid.density - 900.0) ** 2 / 1e3 + (p[1] - 1.0) ** 2

    x = np.array([40.0, 0.0])
    right, messages = told(cost, x)
    assert messages == []
    assert abs(right[0]) > 0.1
    cost(x + 1.0)
    cost(x)
    assert len(told(cost, x)[1]) == 1


@pytest.mark.parametrize(("make", "same"), [c[1:] for c in CACHES], ids=[c[0] for c in CACHES])
def test_a_cache_that_an_earlier_gradient_has_filled_is_told(make, same):
    kept = make(same)
    assert told(kept.loss, P)[1] == []
    assert told(kept.loss, P)[1]
    assert told(kept.loss, P + 0.1)[1] == []


def test_what_an_ended_call_keeps_does_not_count_as_followed():
    kept = KeptArray(ARRAYS["norm"])
    assert told(kept.loss, P)[1] == []
    assert kept.last.requires_grad
    assert len(told(kept.loss, P)[1]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ag.hessian(lambda p: ((p - ag.tensor(P)) ** 2).sum())(P)


def test_the_way_out_gives_the_gradient():
    kept = Kept(NUMBERS["=="])
    kept.loss(P)

    def emptied(p):
        kept.last = None
        return kept.loss(p)

    gradient, messages = told(emptied, P)
    np.testing.assert_allclose(gradient, told(Kept(NUMBERS["=="]).loss, P)[0])
    assert messages == []


def iteration(p):
    x, before = p[0], None
    for _ in range(100):
        if before is not None and x == before:
            break
        before, x = x, 0.5 * (x + p[1] / x)
    return x


def written_out(p):
    return p[0] ** 2 if p[0] == 0.7 else p[1]


def special(p, at=1.0):
    return p[0] ** 2 if p[0] / p[0] == at else p[1]


def stopped(p):
    return (p**2).sum() if (p == ag.stop_gradient(p)).all() else p[1]


def different(p, table=(0.1, 0.9)):
    return sum(p[0] for one in table if p[0] != one)


def of_shapes(p):
    return p.sum() if np.array_equal(p.shape, (2,)) else p[0]


@pytest.mark.parametrize("f", [iteration, written_out, special, stopped, different, of_shapes])
@pytest.mark.parametrize("adopt", [True, False])
def test_other_comparisons_are_silent(f, adopt):
    assert told(f, P, adopt=adopt)[1] == []


def differs(a, b):
    return abs(a - b) > 1e-9


# How an object's constructor checks a value, which raises if it is another.
CHECKS = [
    "if p[0] != n: raise ValueError",
    "if abs(p[0] - n) > 1e-9: raise ValueError",
    "if differs(p[0], n): raise ValueError",
    "if not p[0] == n:\n            raise ValueError",
    "assert p[0] == n",
    "assert not differs(p[0], n)",
]


def checking(check, name):
    """A class whose method of this name checks."""
    source = f"""
class Checking:
    def __init__(self, p, n):
        self.p, self.n = p, n
    def {name}(self, p, n=0.7):
        {check}
        self.p = p
    def of(self, p):
        self.{name}(p)
        return (self.p**2).sum()
"""
    path = f"<checking {len(linecache.cache)}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    namespace = {"differs": differs, "__name__": __name__}
    exec(compile(source, path, "exec"), namespace)
    return namespace["Checking"]


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_of_a_constructor_is_silent_and_one_of_a_method_is_told(check):
    made = checking(check, "__init__")
    assert told(lambda p: (made(p).p ** 2).sum(), P)[1] == []
    again = checking(check, "again")(P, 0.7)
    assert len(told(again.of, P)[1]) == 1


def test_it_is_told_without_adoption_and_turned_off_by_the_policy():
    kept = Kept(NUMBERS["=="])
    kept.loss(P)
    assert len(told(kept.loss, P, adopt=False)[1]) == 1
    with ag.number_policy("off"):
        assert told(kept.loss, P)[1] == []


def test_few_comparisons_at_a_place_are_looked_at():
    looks = []
    table = np.full(100, 0.7)

    def f(p):
        total = p[1]
        for one in table:
            if p[0] == one:
                looks.append(one)
                total = total + p[0]
        return total

    gradient, messages = told(f, P)
    np.testing.assert_allclose(gradient, [100.0, 1.0])
    assert len(looks) == 100
    assert 1 <= len(messages) <= 3


# -- what the test of an `if` decides, however it asks -----------------------------------------------------------------

TESTS = {
    "bool": "x - self.last",
    "bool()": "bool(x - self.last)",
    "of abs": "abs(x - self.last)",
    "two bounds": "not self.last <= x <= self.last",
    "either side": "x < self.last or x > self.last",
    "relative bound": "abs(x - self.last) > 1e-9 * abs(x)",
    "relative to the larger": "abs(x - self.last) > 1e-9 * max(abs(x), abs(self.last))",
    "quotient": "x / self.last != 1",
    "logarithm": "abs(math.log(x / self.last)) > 1e-9",
    "isclose": "not math.isclose(x, self.last)",
    "close only": "abs(x - self.last * (1 + 1e-12)) > 1e-8",
    "rounded": "round(x - self.last, 9) != 0",
    "text": "str(x) != str(self.last)",
    "repr": "repr(x) != repr(self.last)",
    "hashes": "hash(x) != hash(self.last)",
    "whole numbers": "int(x * 1e6) != int(self.last * 1e6)",
    "named": "(same := math.isclose(x, self.last)) is False",
}
ARRAY_TESTS = {
    "any": "(x - self.last).any()",
    "np.any": "np.any(x - self.last)",
    "text": "str(x) != str(self.last)",
    "lists": "not np.array_equal([x], [self.last])",
    "isin": "not np.isin(x, self.last).all()",
    "in": "not all(v in self.last for v in x)",
    "unique": "len(np.unique(np.concatenate([x, self.last]))) != len(x)",
    "ptp": "np.ptp(x - self.last) > 1e-9",
    "sign": "np.sign(x - self.last).any()",
    "count_nonzero": "np.count_nonzero(x - self.last)",
    "nonzero": "len(np.nonzero(x - self.last)[0])",
    "quotients": "not np.allclose(x / self.last, 1.0)",
    "extremes": "(np.maximum(x, self.last) != np.minimum(x, self.last)).any()",
    "norm, relative": "np.linalg.norm(x - self.last) > 1e-10 * np.linalg.norm(x)",
}
KEYS = ["f'{x:.9f}'", "str(x)", "repr(x)", "hash(x)", "'%.9f' % x", "int(x * 1e6)", "(str(x), 1)"]
FORMS = {
    "if": """
        if self.last is None or TEST:
            self.last = x
            self.kept = x**2
        return np.sum(self.kept * x)
""",
    "else": """
        if self.last is not None and not (TEST):
            return np.sum(self.kept * x)
        self.last, self.kept = x, x**2
        return np.sum(self.kept * x)
""",
    "a name": """
        stale = self.last is None or TEST
        if stale:
            self.last = np.copy(x) if np.ndim(x) else x
            self.kept = x**2
        y = self.kept * x
        return np.sum(y)
""",
}
KEYED = """
        key = KEY
        if self.last != key:
            self.last = key
            self.kept = x**2
        return np.sum(self.kept * x)
"""
KEYED_THERE = """
        if self.last != KEY:
            self.last = KEY
            self.kept = x**2
        return np.sum(self.kept * x)
"""
PAIRED = """
        if self.last is None or self.last[0] != x * 1.0:
            self.last = (x, x**2)
        return np.sum(self.last[1] * x)
"""
MEMBERS = [(form.replace("TEST", test), 0.7) for form in FORMS.values() for test in TESTS.values()]
MEMBERS += [(form.replace("TEST", test), P) for form in FORMS.values() for test in ARRAY_TESTS.values()]
MEMBERS += [(form.replace("KEY", key), 0.7) for form in (KEYED, KEYED_THERE) for key in KEYS]
MEMBERS += [(PAIRED, 0.7)]


def object_with(body, start="None"):
    text = f"import math\nimport numpy as np\nclass C:\n    last = {start}\n    def f(self, x):{body}"
    names = {"__name__": "one_value"}
    file = f"one_value_{abs(hash(text))}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)
    return names["C"]()


def any_told(f, x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        gradient = ag.grad(f)(x)
    return gradient, [str(w.message) for w in found]


@pytest.mark.parametrize(("body", "x"), MEMBERS)
@pytest.mark.parametrize("before", ["plain", "gradient"])
def test_what_a_test_says_is_kept_is_told(body, x, before):
    kept = object_with(body)
    if before == "plain":
        np.testing.assert_allclose(kept.f(x), np.sum(np.asarray(x) ** 3))
    else:
        gradient, messages = any_told(kept.f, x)
        np.testing.assert_allclose(gradient, 3 * np.asarray(x) ** 2)
        assert messages == []
    gradient, messages = any_told(kept.f, x)
    np.testing.assert_allclose(gradient, np.asarray(x) ** 2)  # that of the constant
    assert messages
    kept.last = None  # the way out
    if before == "plain":
        gradient, messages = any_told(kept.f, x)
        np.testing.assert_allclose(gradient, 3 * np.asarray(x) ** 2)
        assert messages == []


@pytest.mark.parametrize(
    "body",
    [
        # the best value so far
        (
            "\n        y = x * x\n        if self.last is None or y < self.last:\n            self.last = y\n"
            "            self.best = x\n        return y\n"
        ),
        # a scale of the first call, and what counts calls
        (
            "\n        if self.last is None:\n            self.last = 2.0\n            self.count = 0.0\n"
            "        self.count += 1.0\n        return x * self.last * self.count\n"
        ),
        # a table that is made for a number of points
        (
            "\n        n = 5\n        if self.last != n:\n            self.last = n\n"
            "            self.table = np.linspace(0.0, 1.0, n)\n        return (x * self.table).sum()\n"
        ),
        # a constant on purpose
        (
            "\n        import arraygrad as ag\n        if self.last is None or abs(ag.stop_gradient(x) - self.last) "
            "> 1e-3:\n            self.last = float(ag.stop_gradient(x))\n            self.kept = 2.0 * self.last\n"
            "        return self.kept * x\n"
        ),
        # another value than the one before
        (
            "\n        if self.last is None or x > self.last:\n            self.last = x + 1.0\n"
            "            self.kept = 2.0\n        return self.kept * x\n"
        ),
    ],
)
def test_what_keeps_other_things_is_silent(body):
    kept = object_with(body)
    for _ in range(3):
        kept.f(0.7)
        assert any_told(kept.f, 0.7)[1] == []


# -- iterations that begin where an earlier call ended -----------------------------------------------------------------

ITERATIONS = {
    "a size": """
        while True:
            new = np.cos(self.last * x)
            size = SIZE
            self.last = new
            if size < 1e-12:
                return np.sum(new * x)
""",
    "a break": """
        for _ in range(500):
            new = np.cos(self.last * x)
            if SIZE < 1e-12:
                break
            self.last = new
        return np.sum(new * x)
""",
    "while": """
        new = np.cos(self.last * x)
        while SIZE >= 1e-12:
            self.last = new
            new = np.cos(self.last * x)
        return np.sum(new * x)
""",
    "turned": """
        while True:
            new = np.cos(self.last * x)
            if 1e-12 > SIZE:
                return np.sum(new * x)
            self.last = new
""",
}
STARTS = [
    *[
        (body, size, "0.5", 0.7)
        for body in ITERATIONS.values()
        for size in ("abs(new - self.last)", "math.fabs(self.last - new)")
    ],
    *[
        (body, size, "np.array([0.5, 0.6])", np.array([0.7, 0.9]))
        for body in ITERATIONS.values()
        for size in ("np.linalg.norm(new - self.last)", "np.max(np.abs(new - self.last))")
    ],
]


@pytest.mark.parametrize(("body", "size", "start", "x"), STARTS)
@pytest.mark.parametrize("before", ["plain", "gradient"])
def test_an_iteration_that_begins_at_its_solution_is_told(body, size, start, x, before):
    text, e = body.replace("SIZE", size), 1e-6
    steps = np.eye(np.size(x)).reshape((np.size(x), *np.shape(x))) * e
    values = [(object_with(text, start).f(x + s) - object_with(text, start).f(x - s)) / (2 * e) for s in steps]
    expected = np.reshape(values, np.shape(x))
    kept = object_with(text, start)
    gradient, messages = any_told(kept.f, x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
    assert messages == []
    if before == "plain":
        kept = object_with(text, start)
        kept.f(x)
    gradient, messages = any_told(kept.f, x)
    assert abs(gradient - expected).max() > 1e-2
    assert len(messages) == 1
    kept.last = eval(start)  # the way out
    np.testing.assert_allclose(any_told(kept.f, x)[0], expected, rtol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        # the start does not outlive the call
        (
            "\n        z = 0.5\n        while True:\n            new = np.cos(z * x)\n            size = abs(new - z)\n"
            "            z = new\n            if size < 1e-12:\n                return z * x\n"
        ),
        # what is kept is another value
        (
            "\n        z = 0.5\n        for i in range(99):\n            new = np.cos(z * x)\n"
            "            self.last = i\n"
            "            if abs(new - z) < 1e-12:\n                break\n            z = new\n        return z * x\n"
        ),
        # it begins anew
        (
            "\n        self.last = 0.5\n        while True:\n            new = np.cos(self.last * x)\n"
            "            if abs(new - self.last) < 1e-12:\n                return new * x\n"
            "            self.last = new\n"
        ),
        # quotients of two values of the same call
        (
            "\n        z = x\n        for _ in range(60):\n            new = 0.5 * (z + 2.0 * x / z)\n"
            "            if abs(1.0 - new / z) < 6e-16:\n                return new\n            z = new\n"
        ),
        (
            "\n        self.v = x\n        for _ in range(60):\n            old = self.v\n"
            "            self.v = 0.5 * (old + 2.0 * x / old)\n            if abs(self.v / old - 1.0) < 6e-16:\n"
            "                break\n        return self.v\n"
        ),
    ],
)
def test_iterations_from_other_starts_are_silent(body):
    kept = object_with(body)
    for _ in range(2):
        value = kept.f(0.7)
        gradient, messages = any_told(kept.f, 0.7)
        assert messages == []
        assert gradient == pytest.approx((kept.f(0.7 + 1e-6) - kept.f(0.7 - 1e-6)) / 2e-6, rel=1e-5)
        assert kept.f(0.7) == pytest.approx(value)
