"""What programs keep of an adopted call is what a plain call leaves: numbers and arrays, in every place.

Each program is compared with itself in a plain call. Imports the public names of arraygrad.
"""

from __future__ import annotations

import collections
import concurrent.futures
import gc
import sys
import textwrap
import threading
import types
import weakref

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.adoption.kept import set_kept_plain

X = 1.3

PRELUDE = """
import collections, dataclasses, functools, math, queue, types, typing
import numpy as np

class Box:
    kept = None

class Slotted:
    __slots__ = ("kept",)

@dataclasses.dataclass
class Data:
    kept: object = None

@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    kept: object

class Pair(typing.NamedTuple):
    first: object
    second: object = 1.0

class Log(list):
    pass
"""

# name -> (what is there before, how a value is kept, what is looked at afterwards)
PLACES = {
    "item of a dict": ("D = {}", "D['z'] = v", "D"),
    "item of a dict in a dict": ("D = {'a': {}}", "D['a']['z'] = v", "D"),
    "item under a number": ("D = {}", "D[3] = v", "D"),
    "item under an object": ("D = {}; K = Box()", "D[K] = v", "list(D.values())"),
    "dict.update": ("D = {}", "D.update(z=v)", "D"),
    "dict.setdefault": ("D = {}", "D.setdefault('z', v)", "D"),
    "defaultdict": ("D = collections.defaultdict(list)", "D['z'].append(v)", "D"),
    "OrderedDict": ("D = collections.OrderedDict(a=1.0)", "D['z'] = v", "D"),
    "item of a list": ("L = [0.0, 1.0]", "L[1] = v", "L"),
    "list.append": ("L = []", "L.append(v)", "L"),
    "list.extend": ("L = []", "L.extend([v, 2.0, v])", "L"),
    "many items": ("L = [0.0] * 5000", "L.append(v)", "L"),
    "class derived from list": ("L = Log()", "L.append(v)", "L"),
    "deque": ("Q = collections.deque(maxlen=3)", "Q.append(v); Q.appendleft(v)", "Q"),
    "queue": ("Q = queue.Queue()", "Q.put(v)", "list(Q.queue)"),
    "attribute": ("O = Box()", "O.kept = v", "vars(O)"),
    "setattr": ("O = Box()", "setattr(O, 'z', v)", "vars(O)"),
    "attribute of a class": ("", "Box.kept = v", "Box.kept"),
    "attribute of a namespace": ("O = types.SimpleNamespace()", "O.kept = v", "vars(O)"),
    "attribute of an attribute": ("O = Box(); O.inner = Box()", "O.inner.kept = v", "vars(O.inner)"),
    "attribute of a new object": ("L = []", "L.append(Box()); L[-1].kept = v", "[vars(one) for one in L]"),
    "slot": ("O = Slotted()", "O.kept = v", "O.kept"),
    "field of a dataclass": ("O = Data()", "O.kept = v", "vars(O)"),
    "frozen dataclass": ("L = []", "L.append(Frozen(v))", "[one.kept for one in L]"),
    "named tuple": ("L = []", "L.append(Pair(v))", "L"),
    "tuple": ("L = []", "L.append((v, (v, 'a')))", "L"),
    "global tuple": ("T = ()", "global T; T = T + (v,)", "T"),
    "global": ("Z = None", "global Z; Z = v", "Z"),
    "attribute of a function": ("", "f.kept = v", "vars(f)"),
    "list that is a default argument": ("def keep(v, log=[]): log.append(v)", "keep(v)", "keep.__defaults__"),
    "default argument": ("def g(a=0.0): return a", "g.__defaults__ = (v,)", "g.__defaults__"),
    "keyword of a partial": ("P = functools.partial(max, key={})", "P.keywords['key']['z'] = v", "P.keywords"),
    "array of objects": ("A = np.empty(2, dtype=object)", "A[1] = [v]", "list(A)"),
    "item of an array of objects": ("A = np.empty((2, 2), dtype=object)", "A[1, 0] = (v,)", "A.tolist()"),
    "linked objects": (
        "O = Box()",
        "o = O\n    for _ in range(12):\n        o.kept = Box(); o = o.kept\n    o.kept = v",
        "chain(O)",
    ),
    "object that holds itself": ("O = Box(); O.me = O", "O.kept = v", "O.kept"),
    "two places": ("D = {}; L = []", "D['z'] = v; L.append(v)", "(D, L, D['z'] is L[0])"),
}
CELL = """
def made():
    kept = None
    def f(x):
        nonlocal kept
        z, y = x * x, np.array([x, 2.0 * x])
        kept = {kind}
        return z + y.sum()
    return f, lambda: kept
f, state = made()
"""
# Of the number x: Python's numbers, scalars and arrays.
KINDS = [
    "float(z)", "z", "x", "-z", "z.real", "float(y[1])", "math.sin(z)", "math.hypot(x, z)", "complex(x, 1.0)", "int(z)",
    "round(z)", "y[1].item()", "y.tolist()", "y[0]", "np.float64(z)", "np.float32(z)", "np.sin(z)", "y.sum()",
    "y.mean()", "y", "y[1:]", "y.reshape(2, 1)", "np.asarray(z)", "np.array(z)", "np.zeros(2)", "np.ones(2) * 3.0",
    "np.eye(2)[0]", "y * 1j", "[z, 2.0]", "{'a': y}", "(z, [y])", "y > 0.0", "str(z)", "None",
]  # fmt: skip
_APART = 7  # kinds that a place is tested with lie so far apart
# Values that can be items of sets and keys of dicts.
HASHED = ["float(z)", "z", "y[0]", "(z, 1)", "(1, (z, y[1]))", "Pair(z)", "frozenset((z, 2.0))", "y[1].item()"]
SETS = {
    "set": ("S = set()", "S.add(v); S.add(0.5)", "S"),
    "key": ("D = {}", "D[v] = 1.0; D[0.5] = 2.0", "D"),
    "key and value": ("D = {}", "D[v] = [v]", "D"),
    "key of an OrderedDict": ("D = collections.OrderedDict()", "D[v] = v; D[0.5] = 2.0", "D"),
    "Counter": ("D = collections.Counter()", "D[v] += 1", "D"),
    "class attribute set": ("Box.kept = set()", "Box.kept.add(v)", "Box.kept"),
}

_names = []


@pytest.fixture(autouse=True)
def no_programs():
    """Take out the modules of the tests' programs."""
    yield
    while _names:
        sys.modules.pop(_names.pop(), None)


def chain(o):
    """What the last of linked objects holds."""
    n = 0
    while type(getattr(o, "kept", None)) is type(o):
        o, n = o.kept, n + 1
    return n, vars(o)


def module(source):
    made = types.ModuleType(f"kept_program_{len(sys.modules)}")
    sys.modules[made.__name__] = made
    _names.append(made.__name__)
    made.chain = chain
    exec(compile(PRELUDE + textwrap.dedent(source), "kept_program.py", "exec"), vars(made))
    return made


def program(before, keep, after, kind):
    return module(
        f"{before}\ndef f(x):\n    z, y = x * x, np.array([x, 2.0 * x])\n    v = {kind}\n    {keep}\n"
        f"    return z + y.sum()\ndef state(): return {after}\n"
    )


def same(a, b):
    """Whether two values have the same types and contents, all the way down."""
    if type(a).__name__ != type(b).__name__:
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            same(k, m) and same(v, w) for (k, v), (m, w) in zip(a.items(), b.items(), strict=True)
        )
    if isinstance(a, set | frozenset):
        return a == b and sorted(type(one).__name__ for one in a) == sorted(type(one).__name__ for one in b)
    if isinstance(a, list | tuple | collections.deque):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dict__") and not isinstance(a, type):
        return same(vars(a), vars(b))
    return a == b


def named(*values):
    """The names of the types: what compares `float` itself here would keep it from being recorded."""
    return [type(value).__name__ for value in values]


def check(make, x=X):
    """An adopted call leaves what a plain one does, and the plain call after it does what it does without."""
    plain, adopted = make(), make()
    value = plain.f(x)
    assert ag.grad(adopted.f, adopt=True)(x) == pytest.approx(2 * x + 3)
    assert same(adopted.state(), plain.state()), (adopted.state(), plain.state())
    assert same(adopted.f(x), value)
    assert same(plain.f(x), value)
    assert same(adopted.state(), plain.state()), (adopted.state(), plain.state())


@pytest.mark.parametrize("place", PLACES)
def test_an_adopted_call_leaves_what_a_plain_one_leaves(place):
    at = list(PLACES).index(place)
    for kind in KINDS[at % _APART :: _APART]:
        check(lambda kind=kind: program(*PLACES[place], kind))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_plain_in_a_dict(kind):
    check(lambda: program(*PLACES["item of a dict"], kind))


@pytest.mark.parametrize("place", SETS)
def test_keys_and_items_of_sets_are_plain(place):
    for kind in HASHED:
        check(lambda kind=kind: program(*SETS[place], kind))


@pytest.mark.parametrize("kind", KINDS)
def test_a_variable_of_a_closure_is_plain(kind):
    check(lambda: module(CELL.format(kind=kind)))


# Transforms

TRANSFORMS = {
    "grad": lambda f: ag.grad(f, adopt=True)(X),
    "value_and_grad": lambda f: ag.value_and_grad(f, adopt=True)(X),
    "jacobian": lambda f: ag.jacobian(f, adopt=True)(X),
    "jacfwd": lambda f: ag.jacfwd(f, adopt=True)(X),
    "hessian": lambda f: ag.hessian(f, adopt=True)(X),
    "hvp": lambda f: ag.hvp(f, adopt=True)(X, 1.0),
    "vjp": lambda f: ag.vjp(f, X, adopt=True)[1](1.0),
    "jvp": lambda f: ag.jvp(f, (X,), (1.0,), adopt=True),
    "linearize": lambda f: ag.linearize(f, X, adopt=True)[1](1.0),
    "elementwise_grad": lambda f: ag.elementwise_grad(f, adopt=True)(X),
    "grad of grad": lambda f: ag.grad(ag.grad(f), adopt=True)(X),
    "argnames": lambda f: ag.grad(f, argnames="x", adopt=True)(X),
}
KEEPS = "D['z'] = float(z); D.setdefault('log', []).append(y)"


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_leaves_plain_values(transform):
    plain, adopted = [program("D = {}", KEEPS, "D", "z") for _ in range(2)]
    plain.f(X)
    TRANSFORMS[transform](adopted.f)
    adopted.D["log"] = adopted.D["log"][:1]
    assert same(adopted.D, plain.D)


def test_what_an_inner_transform_keeps_is_recorded_until_the_outermost_ends():
    kept, types_inside = {}, []

    def g(z, x):
        kept["w"] = z * x
        return z * z * x

    def f(x):
        slope = ag.grad(g)(x, x)
        types_inside.append(isinstance(kept["w"], ag.Tensor))
        return slope * kept["w"]

    assert ag.grad(f, adopt=True)(X) == pytest.approx(8 * X**3)  # 2 x**2 * x**2
    assert types_inside == [True]
    assert isinstance(kept["w"], float)  # z of the inner one is open


def test_an_error_leaves_plain_values():
    o = types.SimpleNamespace(log=[])

    def f(x):
        o.log.append(float(x * x))
        if len(o.log) == 2:
            raise ValueError("second")
        return x * o.log[-1]

    ag.grad(f, adopt=True)(X)
    with pytest.raises(ValueError, match="second"):
        ag.grad(f, adopt=True)(X)
    assert named(*o.log) == ["float", "float"]


@pytest.mark.parametrize("make", [lambda x, z: [x, z], lambda x, z: (z, [x]), lambda x, z: {"a": z}])
def test_a_container_that_is_kept_and_returned_has_its_gradient(make):
    kept = []

    def f(x):
        found = make(x, x * x)
        kept.append(found)
        return found

    gradient = ag.vjp(f, X, adopt=True)[1]
    assert same(kept[0], make(X, X * X))
    ones = make(1.0, 1.0)
    assert gradient(ones)[0] == pytest.approx(2 * X + ("a" not in ones))


def test_the_result_itself_may_be_kept():
    kept = []

    def f(x):
        kept.append(x * x)
        return kept[-1]

    assert ag.grad(f, adopt=True)(X) == pytest.approx(2 * X)
    value, (gradient,) = (lambda found: (found[0], found[1](1.0)))(ag.vjp(f, X, adopt=True))
    assert (value, gradient) == (X * X, pytest.approx(2 * X))
    assert named(*kept) == ["float", "float"]


def test_auxiliary_results_that_are_kept_are_plain_in_both_places():
    kept = {}

    def f(x):
        kept["a"] = [x * x]
        return x * x, kept["a"]

    gradient, aux = ag.grad(f, has_aux=True, adopt=True)(X)
    assert gradient == pytest.approx(2 * X)
    assert same(aux, [X * X])
    assert same(kept["a"], [X * X])


# What reads later what is kept


def test_a_checkpoint_reads_what_is_kept_with_its_gradient():
    o = types.SimpleNamespace()

    def f(x):
        o.z = x * x
        return ag.checkpoint(lambda y: y * o.z)(x)

    assert ag.grad(f, adopt=True)(X) == pytest.approx(3 * X**2)
    assert named(o.z) == ["float"]
    pull = ag.vjp(f, X, adopt=True)[1]
    assert pull(1.0)[0] == pytest.approx(3 * X**2)
    assert ag.jacobian(f, adopt=True)(X) == pytest.approx(3 * X**2)
    del pull
    assert ag.grad(lambda x: x * x)(X) == 2 * X  # where the others end, the function may still be needed
    assert named(o.z) == ["float"]


def test_an_array_that_the_program_writes_later_leaves_a_gradient_right():
    kept = {}

    def f(x):
        kept["a"] = np.array([x, 2.0 * x])
        return (kept["a"] ** 3).sum()

    value, pull = ag.vjp(f, X, adopt=True)
    kept["a"][:] = 100.0
    assert value == pytest.approx(9 * X**3)
    assert pull(1.0)[0] == pytest.approx(27 * X**2)


def test_views_that_are_kept_show_the_same_memory():
    kept = {}

    def f(x):
        kept["a"] = np.zeros(4)
        kept["inner"] = kept["a"][1:-1]
        kept["inner"] += x
        return kept["a"].sum() * x

    assert ag.grad(f, adopt=True)(X) == pytest.approx(4 * X)
    kept["inner"][:] = 7.0
    assert same(kept["a"], np.array([0.0, 7.0, 7.0, 0.0]))
    assert kept["inner"].base is kept["a"]


def test_arguments_that_hold_what_is_kept_are_plain():
    def f(x, log, options):
        log.append(x * x)
        options["z"] = np.array([x])
        return x * x

    log, options = [], {"n": 1}
    assert ag.grad(f, adopt=True)(X, log, options=options) == pytest.approx(2 * X)
    assert same((log, options), ([X * X], {"n": 1, "z": np.array([X])}))


def test_arrays_that_the_transform_hands_over_are_plain_where_they_are_kept():
    kept = {}

    def f(params, y):
        kept.update(w=params["w"], y=y, first=params["w"][0])
        return (params["w"] * y).sum()

    w, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    assert np.array_equal(ag.grad(f, adopt=True)({"w": w}, y)["w"], y)
    assert same(kept, {"w": w, "y": y, "first": w[0]})
    assert np.shares_memory(kept["w"], w)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_what_is_kept_has_its_precision(dtype):
    kept = {}

    def f(x):
        kept.update(all=x * 2, one=x[0], total=x.sum())
        return abs(x).sum()

    x = np.array([1.0, 2.0], dtype)
    f(x)
    plain = dict(kept)
    ag.grad(f, adopt=True)(x)
    assert same(kept, plain)


# What stays

OWN = ag.tensor([1.0, 2.0])
OWN_LEAF = ag.tensor(2.0, requires_grad=True)


def test_tensors_of_the_program_stay():
    kept = {"own": OWN, "leaf": OWN_LEAF, "both": (OWN,)}

    def f(x):
        kept["z"] = float(x)
        return x * x

    ag.grad(f, adopt=True)(X)
    assert kept["own"] is OWN
    assert kept["leaf"] is OWN_LEAF
    assert kept["both"][0] is OWN
    assert named(kept["z"]) == ["float"]


def test_a_program_that_makes_tensors_keeps_them():
    kept = {}

    def f(x):
        kept["t"] = ag.asarray([1.0, 2.0])
        return x * kept["t"].sum()

    f(X)
    ag.grad(f, adopt=True)(X)
    assert isinstance(kept["t"], ag.Tensor)


def test_step_by_step_tensors_are_kept():
    kept = []

    def f(t):
        kept.append(t * t)
        return kept[-1].sum()

    t = ag.tensor([1.0, 2.0], requires_grad=True)
    ag.adopt(f)(t)
    kept[0].sum().backward()
    assert np.array_equal(t.grad.array, [2.0, 4.0])


def test_a_transform_in_code_that_is_recorded_keeps_tensors():
    kept = []

    def f(x):
        kept.append(x * x)
        return x * x

    t = ag.tensor(X, requires_grad=True)
    ag.grad(f, adopt=True)(t).backward()
    assert isinstance(kept[0], ag.Tensor)


# Threads


def test_calls_that_overlap_keep_their_gradients():
    kept = {}
    inside, go_on = threading.Event(), threading.Event()

    def slow(x):
        kept["slow"] = x * x
        inside.set()
        assert go_on.wait(20)
        return x * kept["slow"]

    def quick(x):
        kept["quick"] = x * x
        return kept["quick"]

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(ag.grad(slow, adopt=True), X)
        assert inside.wait(20)
        assert ag.grad(quick, adopt=True)(X) == pytest.approx(2 * X)
        assert isinstance(kept["slow"], ag.Tensor)
        go_on.set()
        assert running.result() == pytest.approx(3 * X**2)
    assert named(*kept.values()) == ["float", "float"]


def test_many_threads_leave_plain_values():
    kept = collections.defaultdict(list)

    def f(x, name):
        kept[name].append(x * x)
        return x * kept[name][-1]

    slope = ag.grad(f, adopt=True)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: slope(float(k), k % 3), range(1, 200)))
    assert found == pytest.approx([3.0 * k**2 for k in range(1, 200)])
    slope(1.0, 0)  # a call that overlaps none
    assert set(named(*[one for items in kept.values() for one in items])) == {"float"}


def test_nothing_is_left_alive():
    kept = []

    class Marked:
        pass

    def f(x, marked):
        kept.append(float(x))
        return x * x

    marked = Marked()
    gone = []
    weakref.finalize(marked, gone.append, True)
    ag.grad(f, adopt=True)(X, marked)
    del marked
    gc.collect()
    assert gone == [True]


@pytest.fixture(autouse=True)
def _plain_values_are_left():
    set_kept_plain(True)
    yield
    set_kept_plain(False)
