"""Classes that a program derives from numpy.ndarray: objects of recorded data keep class, attributes and methods.

Each class is used in each line; the value, the class of the result and its attributes are those of the plain call, and
the gradient is that of differences of the plain call.
"""

import abc
import copy
import functools
import pickle

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.3, 0.7, 0.5])


class Viewed(np.ndarray):
    """Made by a view, without anything of its own but methods and properties."""

    def __new__(cls, values):
        return np.asarray(values, dtype=float).view(cls)

    @classmethod
    def of_parts(cls, *parts):
        return cls(np.hstack(parts))

    @property
    def first(self):
        return self[0]

    @first.setter
    def first(self, value):
        self[0] = value

    def norm(self):
        return np.sqrt((self**2).sum())


class Named(Viewed):
    """With attributes that go from object to object."""

    def __new__(cls, values, name="x", scale=2.0):
        made = super().__new__(cls, values)
        made.name = name
        made.scale = scale
        return made

    def __array_finalize__(self, obj):
        if obj is None:
            return
        self.name = getattr(obj, "name", "none")
        self.scale = getattr(obj, "scale", 1.0)
        self.n = self.size

    def scaled(self):
        return self * self.scale


class Wrapping(np.ndarray):
    """Whose results are plain arrays."""

    def __new__(cls, values, grad=None):
        made = np.asarray(values, dtype=float).view(cls)
        made.grad = grad
        return made

    def __array_finalize__(self, obj):
        if obj is None:
            return
        self.grad = getattr(obj, "grad", None)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.array(array)

    def __getitem__(self, key):
        return np.array(self)[key]


class Scalars(np.ndarray):
    """Whose results are of its class again, numbers but for those without axes."""

    def __new__(cls, values):
        if not np.isfinite(values).all():
            raise ValueError("not finite")
        return np.asarray(values, dtype=float).view(cls)

    def __array_finalize__(self, _):
        self.dimension = self.size

    def __array_wrap__(self, array, context=None, return_scalar=False):
        if return_scalar:
            return array[()]
        try:
            return type(self)(array)
        except Exception:
            return array

    def round(self, decimals=0):
        return type(self)(super().round(decimals=decimals).copy())


class Buffered(np.ndarray):
    """Made by the base's `__new__` over the memory of an array, by super with arguments."""

    def __new__(subtype, values):
        values = np.array(values, dtype=float)
        values /= np.linalg.norm(values)
        made = super(Buffered, subtype).__new__(subtype, values.shape, float, values)  # noqa: UP008
        made.A = values
        return made

    @property
    def last(self):
        return self.A[-1]

    def __mul__(self, other):
        return np.cross(self.A, np.asarray(other)) if np.ndim(other) else np.asarray(self) * other

    def norm(self):
        return super(Buffered, self).sum()  # noqa: UP008


class Filled(np.ndarray):
    """Made by the base's `__new__`, and written."""

    def __new__(cls, values):
        made = super().__new__(cls, (len(values),))
        made[:] = values
        return made


class Matrixlike(np.ndarray):
    """Whose `*` is the product of matrices."""

    __array_priority__ = 11.0

    def __new__(cls, values):
        values = np.asarray(values, dtype=float)
        return (np.outer(values, values) if values.ndim == 1 else values).view(cls)

    def __mul__(self, other):
        return np.dot(self, other)

    def __rmul__(self, other):
        return np.dot(other, self)


class Ufuncs(np.ndarray):
    """With an `__array_ufunc__` of its own, which counts and takes views, as NumPy's manual does."""

    def __new__(cls, values):
        made = np.asarray(values, dtype=float).view(cls)
        made.calls = 0
        return made

    def __array_finalize__(self, obj):
        self.calls = getattr(obj, "calls", 0)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [x.view(np.ndarray) if isinstance(x, Ufuncs) else x for x in inputs]
        made = super().__array_ufunc__(ufunc, method, *plain, **kwargs)
        if np.ndim(made):
            made = np.asarray(made).view(Ufuncs)
            made.calls = self.calls + 1
        return made


class Spatial(abc.ABC):
    """A mixin."""

    @abc.abstractmethod
    def length(self): ...

    @functools.cached_property
    def double(self):
        return self + self


class Mixed(Viewed, Spatial):
    """With a base that is no array, and a descriptor."""

    kind = "mixed"

    def length(self):
        return self.norm() * 2.0


CLASSES = [Viewed, Named, Wrapping, Scalars, Buffered, Filled, Matrixlike, Ufuncs, Mixed]

LINES = {
    "itself": lambda C, t: C(t),
    "sum": lambda C, t: C(t).sum(),
    "sum of an axis": lambda C, t: C(np.outer(t, t)).sum(axis=0),
    "np.sum": lambda C, t: np.sum(C(t) * 2.0),
    "mean": lambda C, t: C(t).mean(),
    "max": lambda C, t: C(t).max(),
    "power": lambda C, t: C(t) ** 2,
    "a number": lambda C, t: 3.0 * C(t) - 1.0,
    "a list": lambda C, t: C(t) + [1.0, 2.0, 3.0],
    "a plain array": lambda C, t: C(t) * np.array([1.0, 2.0, 3.0]),
    "a plain array first": lambda C, t: np.array([1.0, 2.0, 3.0]) / C(t),
    "one that is recorded": lambda C, t: C(t) + t,
    "one that is recorded first": lambda C, t: t - C(t),
    "two": lambda C, t: C(t) + C(t * t),
    "a ufunc": lambda C, t: np.sin(C(t)),
    "a ufunc of two": lambda C, t: np.arctan2(C(t), t + 1.0),
    "a ufunc reduced": lambda C, t: np.multiply.reduce(C(t)),
    "a ufunc's outer": lambda C, t: np.add.outer(C(t), C(t)),
    "an item": lambda C, t: C(t)[1],
    "a slice": lambda C, t: C(t)[1:],
    "indices": lambda C, t: C(t)[[0, 2]],
    "a mask": lambda C, t: C(t)[C(t) > 0.4],
    "iterated": lambda C, t: sum(v * v for v in C(t)),
    "unpacked": lambda C, t: (lambda a, b, c: a * b - c)(*C(t).ravel()[:3]),
    "a view of an array": lambda C, t: C(t).view(np.ndarray) * 2.0,
    "asarray": lambda C, t: np.asarray(C(t)) ** 2,
    "array": lambda C, t: np.array(C(t)) ** 2,
    "a list of items": lambda C, t: np.array([C(t)[0], C(t)[1] * 2.0]),
    "a list of objects": lambda C, t: np.array([C(t), C(t)]),
    "written": lambda C, t: written(C(t), 0, t[1] * t[2]),
    "written into an array": lambda C, t: written(np.zeros(np.shape(C(t))), Ellipsis, C(t)),
    "in place": lambda C, t: added(C(t), 1.5),
    "reshaped": lambda C, t: C(t).reshape(-1, 1),
    "transposed": lambda C, t: C(np.outer(t, t)).T,
    "copied": lambda C, t: C(t).copy() * 2.0,
    "copy.copy": lambda C, t: copy.copy(C(t)) * 2.0,
    "ravel": lambda C, t: C(np.outer(t, t)).ravel(),
    "cumsum": lambda C, t: C(t).cumsum(),
    "dot": lambda C, t: C(t).dot(np.arange(3.0)),
    "np.dot": lambda C, t: np.dot(C(t), C(t)),
    "dot of an array": lambda C, t: np.outer(t, t).dot(C(t)),
    "matmul": lambda C, t: C(t) @ np.arange(3.0),
    "clip": lambda C, t: C(t).clip(0.2, 0.6),
    "norm": lambda C, t: np.linalg.norm(C(t)),
    "concatenate": lambda C, t: np.concatenate([C(t), C(t)]),
    "hstack": lambda C, t: np.hstack([C(t).ravel(), [1.0]]),
    "where": lambda C, t: np.where(C(t) > 0.4, C(t), 0.0),
    "cross": lambda C, t: np.cross(np.asarray(C(t)).ravel()[:3], [1.0, 2.0, 3.0]),
    "einsum": lambda C, t: np.einsum("...i,i->...", C(t), np.arange(3.0)),
    "zeros_like": lambda C, t: written(np.zeros_like(C(t)), 0, t[1] * t[0]),
    "float": lambda C, t: float(C(t).ravel()[0]) * 2.0,
    "negative": lambda C, t: -C(t),
    "absolute": lambda C, t: abs(C(t) - 0.4),
    "real": lambda C, t: C(t).real,
    "type": lambda C, t: type(C(t))(t * 2.0),
    "class": lambda C, t: C(t).__class__(t * 3.0),
    "isinstance": lambda C, t: t * (2.0 if isinstance(C(t), C) and isinstance(C(t), np.ndarray) else 0.0),
    "an attribute": lambda C, t: attribute(C(t), t[0] * t[1]),
    "astype": lambda C, t: C(t).astype(float) * 2.0,
    "truth": lambda C, t: t * 2.0 if C(t).ravel()[0] > 0.1 else t,
    "len": lambda C, t: t * len(C(t)),
}  # fmt: skip


def written(array, key, value):
    array[key] = value
    return array


def added(array, value):
    array += value
    return array


def attribute(array, value):
    array.extra = value
    return array * array.extra


def kind_of(made):
    """Name of the class, shape, and the attributes that are no arrays."""
    own = {k: v for k, v in getattr(made, "__dict__", {}).items() if isinstance(v, (int, str, float, type(None)))}
    return type(made).__name__, np.shape(made), own


def differences(f, x, h=1e-4):
    found = np.zeros_like(x)
    for i in range(x.size):
        e = np.zeros_like(x)
        e[i] = h
        found[i] = (8.0 * (f(x + e) - f(x - e)) - (f(x + 2.0 * e) - f(x - 2.0 * e))) / (12.0 * h)
    return found


def compared(C, line, x):
    """(kind, value, gradient) of an adopted call, compared with the plain one; a refusal gives its error."""
    kinds = []

    def loss(t):
        made = line(C, t * 1.0)  # some write into the memory of what they are given
        scalar = np.ndim(made) == 0 and not isinstance(made, C)
        kinds.append(kind_of(made) if not scalar else (None, (), {}))
        flat = np.asarray(made).ravel()
        return (flat * np.cos(np.arange(1.0, flat.size + 1.0))).sum()

    try:
        plain = loss(x)
    except (TypeError, ValueError, IndexError, AttributeError) as error:  # the plain program fails, too
        with pytest.raises((TypeError, ValueError, IndexError, AttributeError)):
            ag.grad(loss)(x)
        return error
    (kind,) = kinds
    kinds.clear()
    try:
        value, grad = ag.value_and_grad(loss)(x)
    except TypeError as error:
        return error
    assert kinds == [kind]
    np.testing.assert_allclose(value, plain, rtol=1e-14)
    np.testing.assert_allclose(grad, differences(loss, x), rtol=1e-7, atol=1e-9)
    return None


# What is refused, with the way out; everything else is right. NumPy takes several steps with such objects there.
REFUSED = {
    ("Named", "a ufunc's outer"): "give it numpy.asarray(x)",
    ("Wrapping", "a ufunc's outer"): "give it numpy.asarray(x)",
    ("Scalars", "a ufunc's outer"): "give it numpy.asarray(x)",
    ("Ufuncs", "np.sum"): "give it numpy.asarray(x)",
    ("Ufuncs", "clip"): "give it numpy.asarray(x)",
}


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("name", LINES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_class_value_and_gradient(cls, name):
    error = compared(cls, LINES[name], X)
    text = REFUSED.get((cls.__name__, name))
    if text is not None:
        assert isinstance(error, TypeError)
        assert text in str(error)
        assert "test_subclasses_that_are_recorded.py" in str(error)
    elif error is not None:  # the plain call fails as well
        assert "test_subclasses_that_are_recorded.py" not in str(error)


# -- ways to make it lie -----------------------------------------------------------------------------------------------


class Normalised(Viewed):
    """Whose data the hooks change: each derivative is another one than that of the ufunc."""

    def __array_finalize__(self, obj):
        if self.size > 1:
            self /= np.sqrt((np.asarray(self) ** 2).sum())


class Weighted(Viewed):
    """Whose results are multiplied with what the object holds."""

    weight = 1.0

    def __array_finalize__(self, obj):
        self.weight = getattr(obj, "weight", 1.0)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.asarray(array) * self.weight


def base_written(t):
    a = t * 1.0
    h = a.view(Named)
    a[0] = t[1] * 3.0
    return (h**2).sum()


def written_through(t):
    a = t * 1.0
    h = a.view(Named)
    h[1:] *= t[0]
    h.first = t[2]
    return (a**2).sum()


def view_written(t):
    h = Named(t * 1.0)
    v = h[1:]
    v += t[:2]
    w = h.reshape(3, 1).view(np.ndarray)
    w[0] = t[2] ** 2
    return (h**3).sum() + v.sum()


def buffer_shared(t):
    h = Buffered(t)
    h.A[0] = t[1] * t[2]
    return (np.asarray(h) ** 2).sum()


def weighted(t):
    h = Viewed(t).view(Weighted)
    h.weight = t[0]
    return np.sin(h).sum()


def filled(t):
    h = Filled(t * t)
    h[0] += t[1]
    return h.view(np.ndarray).sum()


def attribute_of_results(t):
    h = Named(t, scale=t[0] * t[1])
    return (np.exp(h).scaled() * h[1:].scale).sum()


def held_by_an_object(t):
    class Owner:
        pass

    o = Owner()
    o.position = Named(t)
    o.position *= 2.0
    o.position = o.position + t
    return (o.position.scaled()).norm()


def without_recording(t):
    with ag.no_grad():
        h = Named(t * 2.0)
        scale = h.norm()
    return (Named(t) * np.asarray(scale)).sum()


def vstacked(t):
    rows = [Named(t * k) for k in (1.0, 2.0)]
    return (np.vstack(rows) * np.mean(rows[1])).sum()


def made_outside(t):
    return (OUTSIDE * t + t * OUTSIDE).scaled().sum()


OUTSIDE = Named([1.0, 2.0, 3.0], scale=3.0)
LIES = [
    lambda t: (Normalised(t) * 2.0)[0], base_written, written_through, view_written, buffer_shared, weighted, filled,
    attribute_of_results, held_by_an_object, vstacked, made_outside,
]  # fmt: skip


@pytest.mark.parametrize("f", LIES)
def test_aliases_hooks_and_attributes(f):
    def called(t):
        return np.asarray(f(t * 1.0)).sum()

    value, grad = ag.value_and_grad(called)(X)
    np.testing.assert_allclose(value, called(X), rtol=1e-14)
    np.testing.assert_allclose(grad, differences(called, X), rtol=1e-7, atol=1e-9)
    hessian = ag.hessian(called)(X)
    rows = [differences(lambda x, i=i: ag.grad(called)(x)[i], X) for i in range(3)]
    np.testing.assert_allclose(hessian, rows, rtol=1e-6, atol=1e-7)


def test_what_is_computed_without_recording_is_a_constant():
    def constant(t, scale):
        return (np.asarray(t) * scale).sum()

    scale = np.sqrt(((2.0 * X) ** 2).sum())
    np.testing.assert_allclose(ag.grad(without_recording)(X), differences(lambda t: constant(t, scale), X), rtol=1e-8)


ARRAY = np.ndarray
COMPILED = {
    "memoryview": memoryview,
    "bytes": lambda h: bytes(h.data),
    "pickle": pickle.dumps,
    "tobytes": lambda h: h.tobytes(),
    "the memory as integers": lambda h: h.view(np.int64),
    "a plain array of the class": lambda h: written(np.zeros(3, dtype=int), Ellipsis, h),
    "through a callback": lambda h: np.apply_along_axis(lambda v: v.sum(), 0, h),
    "NumPy's method by its class": lambda h: ARRAY.sum(h),
    "a masked array": lambda h: np.ma.masked_array(h, [True, False, True]),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_code_gets_no_recorded_memory(name):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        ag.grad(lambda t: COMPILED[name](Named(t)).sum() * t[0])(X)


class WithInit(Viewed):
    def __init__(self, values):
        self.k = 2.0


class WithSlots(np.ndarray):
    __slots__ = ("k",)


class Meta(type):
    pass


class WithMeta(np.ndarray, metaclass=Meta):
    pass


@pytest.mark.parametrize("cls", [WithInit, WithSlots, WithMeta])
def test_classes_that_are_refused(cls):
    with pytest.raises(
        TypeError, match=r"can't hold recorded data, as With\w+ (defines __init__|has).*leave the view out"
    ):
        ag.grad(lambda t: np.asarray(t).view(cls).sum())(X)
    np.testing.assert_array_equal(ag.grad(lambda t: np.asarray(t).sum())(X), np.ones(3))


def test_what_is_refused_of_operators_of_one_made_before():
    outside = Matrixlike(np.eye(3))
    with pytest.raises(TypeError, match=r"numpy\.asarray\(x\)"):
        ag.grad(lambda t: (t * outside).sum())(X)
    np.testing.assert_array_equal(ag.grad(lambda t: (t @ np.asarray(outside)).sum())(X), np.ones(3))


def test_plain_adopted_plain():
    def f(t, fails=False):
        h = Mixed(t)
        if fails:
            raise KeyError("in the middle")
        return h.length() + h.double.sum()

    before, members = f(X), dict(vars(Mixed))
    ag.grad(f)(X)
    with pytest.raises(KeyError):
        ag.grad(f)(X, True)
    assert f(X) == before
    assert vars(Mixed) == members
    assert type(Mixed(X)) is Mixed


def test_kept_after_the_call():
    kept = []

    def f(t):
        kept.append(Named(t))
        return kept[0].norm()

    ag.grad(f)(X)
    (h,) = kept
    assert isinstance(h, Named)
    assert isinstance(h, np.ndarray)
    assert h.__class__ is Named
    np.testing.assert_allclose(np.asarray(ag.stop_gradient(np.add(h, 1.0).__recorded__())), X + 1.0)


def test_a_method_that_is_defined_again(monkeypatch):
    def f(t):
        return Viewed(t).norm()

    ag.grad(f)(X)
    monkeypatch.setattr(Viewed, "norm", lambda self: (self**3).sum())
    np.testing.assert_allclose(ag.grad(f)(X), 3.0 * X**2)


def test_jacobian_of_an_object():
    found = ag.jacobian(lambda t: Named(t) * t[0])(X)
    np.testing.assert_allclose(found, np.outer(X, [1.0, 0.0, 0.0]) + X[0] * np.eye(3))


def test_an_object_as_an_argument_is_refused():
    with pytest.raises(TypeError, match=r"give numpy\.asarray\(x\)"):
        ag.grad(lambda t: t.sum())(Named(X))
