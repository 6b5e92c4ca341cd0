"""Calls of numpy.float64 and its kin in adopted programs: casts that stay recorded, and types as they are otherwise."""

import math
import sys
import textwrap
import types

import numpy as np
import pytest

import arraygrad as ag

X = np.array([0.5, 1.5, 2.5])


@pytest.fixture
def module(monkeypatch):
    """A function that makes a module of a text, with numpy as np and math."""

    def make(text, name="scalar_types_program"):
        made = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, made)
        exec(compile(textwrap.dedent(text), f"{name}.py", "exec"), vars(made))
        return made

    yield make
    ag.adopt.clear()


def test_array_is_cast_and_is_itself_where_it_has_the_dtype(module):
    made = module(
        """
        import numpy as np
        X = np.ones(3)
        def f(x):
            y = np.float64(x)
            assert np.shares_memory(np.float64(X), X)
            z = np.float32(x)
            assert z.dtype == np.float32 and isinstance(z, np.ndarray)
            return (y * 2.0).sum() + (z * 3.0).sum() + np.complex128(x).real.sum() + np.double(x).sum()
        """
    )
    value, gradient = ag.value_and_grad(made.f, adopt=True)(X)
    np.testing.assert_allclose(value, made.f(X), rtol=1e-6)
    np.testing.assert_allclose(gradient, np.full(3, 7.0), rtol=1e-6)
    assert gradient.dtype == np.float64


@pytest.mark.parametrize("give", [0.7, np.float64(0.7), np.array(0.7)], ids=["float", "scalar", "array"])
def test_number_becomes_a_scalar_of_numpy(module, give):
    made = module(
        """
        import math
        import numpy as np
        seen = []
        def f(x):
            s = np.float64(x)
            seen.append((isinstance(s, np.float64), isinstance(s, float), type(s).__name__, np.isscalar(s), s.shape))
            return np.float64(math.sin(s)) * s
        """
    )
    value, gradient = ag.value_and_grad(made.f, adopt=True)(give)
    assert float(value) == pytest.approx(float(made.f(give)), rel=1e-15)
    assert float(gradient) == pytest.approx(math.cos(0.7) * 0.7 + math.sin(0.7), rel=1e-14)
    assert made.seen[0] == made.seen[1] == (True, True, "float64", True, ())


def test_types_under_other_names_defaults_closures_and_values_of_dicts(module):
    made = module(
        """
        import numpy as np
        from numpy import float64 as double
        DTYPE = np.float64
        KINDS = {"double": np.float64, "single": np.float32}
        def as_float(x, dtype=None):
            dtype = DTYPE if dtype is None else dtype
            assert dtype in (np.float32, np.float64)
            return dtype(x)
        def with_default(x, dtype=np.float64):
            return dtype(x)
        def closed(dtype):
            return lambda x: dtype(x)
        inner = closed(np.float64)
        def f(x):
            return sum([g(x).sum() for g in (as_float, with_default, inner, double, DTYPE, KINDS["double"])]) + (
                KINDS["single"](x).sum())
        """
    )
    np.testing.assert_allclose(ag.grad(made.f, adopt=True)(X), np.full(3, 7.0))


def test_type_is_a_dtype_a_key_and_a_class_as_before(module):
    made = module(
        """
        import numpy as np
        SIZES = {np.float32: 4, np.float64: 8}
        class Own(np.float64):
            pass
        def f(x, answers):
            kind = np.float64
            out = np.zeros(3, dtype=kind)
            out[:] = x
            answers += [
                out.dtype == kind, kind == np.float64, kind != np.float32, SIZES[kind], kind in SIZES,
                np.dtype(kind).name, np.dtype(kind) is np.dtype(float), np.finfo(kind).eps, repr(kind), kind.__name__,
                np.issubdtype(kind, np.floating), np.issubdtype(out.dtype, kind), issubclass(kind, float),
                issubclass(np.float64, kind), isinstance(np.float64(2.0), kind), type(kind(2.0)).__name__,
                np.result_type(kind, np.float32).name, isinstance(kind, type), type(kind) is type,
                type(Own(2.0)).__name__, kind("3.5"), kind(), kind([1, 2]).tolist(), hash(kind) == hash(np.float64),
                x.astype(kind).dtype.name, np.arange(3, dtype=kind).dtype.name, callable(kind), kind.fromhex("0x1p1"),
            ]
            match np.float64(2.0):
                case np.float64():
                    answers.append("matched")
            return out.sum()
        """
    )
    plain, adopted = [], []
    made.f(X, plain)
    np.testing.assert_allclose(ag.grad(lambda x: made.f(x, adopted), adopt=True)(X), np.ones(3))
    assert adopted == plain


@pytest.mark.parametrize(
    "compares",
    [
        "x.dtype.type is np.float64",
        "x.dtype.type is dtype",
        "np.float64 is x.dtype.type",
        "dtype is x.dtype.type",
        "KIND is x.dtype.type",
    ],
)
def test_comparison_by_identity_is_answered_as_always(module, compares):
    """No stand-in where a program compares by `is`: a branch would flip."""
    made = module(
        f"""
        import numpy as np
        KIND = np.float64
        def asks(x, dtype):
            return {compares}
        def f(x, dtype=np.float64):
            out = np.zeros(3)
            out[:] = x
            return out.sum() * (2.0 if asks(x, dtype) and asks(x, KIND) and asks(x, np.float64) else 3.0)
        """
    )
    assert made.f(X) == 2.0 * X.sum()
    np.testing.assert_allclose(ag.grad(made.f, adopt=True)(X), np.full(3, 2.0))


def test_call_beside_a_comparison_by_identity_is_refused():
    def f(x):
        return np.float64(x).sum() * (2.0 if x.dtype.type is np.float64 else 3.0)

    with pytest.raises(TypeError, match=r"np\.float64\(x\).*py:\d+, in .*f: x\.dtype\.type is np\.float64\)\. Write x"):
        ag.grad(f, adopt=True)(X)
    with pytest.raises(TypeError, match=r"np\.float64\(x\).*adopt=True\) numpy\.float64 stays recorded"):
        ag.grad(f, adopt=False)(X)


def test_numpy_that_a_function_imports_shows_the_types_themselves(module):
    made = module(
        """
        def f(x):
            import numpy
            out = numpy.zeros(3)
            out[:] = x
            return out.sum() * (2.0 if x.dtype.type is numpy.float64 else 3.0)
        """
    )
    np.testing.assert_allclose(ag.grad(made.f, adopt=True)(X), np.full(3, 2.0))


def test_comparisons_with_none_self_and_members_leave_the_call_recorded(module):
    made = module(
        """
        import dataclasses
        import enum
        import numpy as np
        class Mode(enum.Enum):
            ONE = 1
        @dataclasses.dataclass(frozen=True)
        class Model:
            slope: float = 2.0
            parent: object = None
            def of(self, x, mode=Mode.ONE):
                if mode is Mode.ONE and self.parent is not self and self == Model():
                    return np.float64(self.slope * x).sum()
                return 0.0 * x.sum()
        def f(x, flag=None):
            answer = flag is None
            return Model().of(x) if answer else None
        """
    )
    np.testing.assert_allclose(ag.grad(made.f, adopt=True)(X), np.full(3, 2.0))


def test_no_slope_is_lost_by_other_casts(module):
    made = module("import numpy as np\ndef f(x): return np.float64(x * 1j).sum()")
    with pytest.raises(TypeError, match="gradient"):
        ag.grad(made.f, adopt=True)(X)
    made = module("import numpy as np\ndef f(x): return (np.int64(x) * x).sum()")  # an integer has no slope to lose
    np.testing.assert_array_equal(ag.grad(made.f, adopt=True)(X), np.int64(X))
    made = module("import numpy as np\ndef f(x): return np.float16(x).sum()")
    with pytest.raises(TypeError, match="gradient"):
        ag.grad(made.f, adopt=True)(X)


def test_second_derivatives_no_grad_and_the_end_of_the_call(module):
    made = module(
        """
        import numpy as np
        DTYPE = np.float64
        def f(x): return DTYPE(x ** 3).sum()
        """
    )
    np.testing.assert_allclose(ag.hessian(made.f, adopt=True)(X), np.diag(6.0 * X))
    with ag.no_grad():
        assert type(ag.adopt(made.f)(ag.tensor(X))) in (np.float64, ag.Tensor)
    assert made.DTYPE is np.float64
    assert type(made.f(X)) is np.float64
