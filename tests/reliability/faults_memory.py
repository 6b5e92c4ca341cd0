"""No memory: each allocation of Python and of the engine fails in turn.

CPython's own test module can make its allocators (PyMem, PyObject, raw) fail. NumPy's data and C++ containers come
from elsewhere; what happens when an array cannot be made is in faults_engine (backend methods).

Imports of arraygrad: the public face, engine.engine.
"""

import gc
import sys
import types
import warnings

import numpy as np
from injector import check_whole, kind

import arraygrad as ag
from arraygrad.engine import engine

try:
    import _testcapi
except ImportError:  # not part of every distribution of Python
    _testcapi = None

AVAILABLE = _testcapi is not None and hasattr(_testcapi, "set_nomemory")


def _nested(code):
    """The code objects in a code object: of comprehensions, lambdas and nested functions, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _nested(constant)


def _hold_nested_code():
    """Give all nested code of this process references that stay, where CPython drops one too many.

    In CPython 3.12 and 3.13 the instruction MAKE_FUNCTION that gets no memory for the function releases the code object
    twice. A later call of the same place uses freed memory. That is no fault of what is tested here.
    """

    def makes_function():
        return lambda: 0

    (code,) = _nested(makes_function.__code__)
    before = sys.getrefcount(code)
    _testcapi.set_nomemory(0, 1)
    try:
        makes_function()
    except MemoryError:
        pass
    finally:
        _testcapi.remove_mem_hooks()
    if sys.getrefcount(code) == before:
        return
    import ctypes

    hold = ctypes.pythonapi.Py_IncRef
    hold.argtypes = [ctypes.py_object]
    hold(code)  # what was dropped just now
    for function in gc.get_objects():
        if isinstance(function, types.FunctionType):
            for code in _nested(function.__code__):
                for _ in range(1000):
                    hold(code)


class _Square(ag.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2.0 * x


def leaves_of_program():
    """Two new leaves."""
    return (
        ag.tensor(np.linspace(0.5, 1.5, 6), requires_grad=True),
        ag.tensor(np.linspace(-1.0, 1.0, 6), requires_grad=True),
    )


def plain(x, w):
    """Compiled operations and rules only."""
    y = x * w + ag.sin(x)
    return (y.reshape(2, 3) @ y.reshape(3, 2)).sum() + (y * w).mean()


def rich(x, w):
    """Hooks, a custom Function, views, a write in place, an index, a concatenation."""
    y = _Square.apply(x * w)
    z = y * 1.0
    z[1:3] = w[:2]
    z *= 2.0
    z.register_hook(_hook)
    y.retain_grad()
    return ag.concat([z, y[::2]]).sum() + (z.reshape(2, 3).T * 2.0).sum()


def _hook(g):
    return g * 1.0


def _expected(make):
    leaves = leaves_of_program()
    make(*leaves).backward()
    return [leaf.grad.array for leaf in leaves]


PROGRAMS = {make: _expected(make) for make in (plain, rich)}


def _forward(make, leaves):
    return make(*leaves)


def _starve(start, function, *args):
    """function(*args) with the allocation number `start` failing; (result, whether it raised)."""
    failed = False
    result = None
    ag.memory.empty_cache()  # so that every array has to be made
    _testcapi.set_nomemory(start, start + 1)
    try:
        try:
            result = function(*args)
        finally:
            _testcapi.remove_mem_hooks()
    except MemoryError:
        failed = True
    except SystemError:  # numpy.nditer, and with it broadcast_to, fails without saying why
        failed = True
    except RuntimeError as error:
        if "can't allocate" not in str(error):  # as Python says it where a lock is wanted
            raise
        failed = True
    return result, failed


def _backward(loss):
    loss.backward()
    return True


def _atomic(loss):
    ag.autograd.backward(loss, atomic=True)
    return True


def _grad_of_grad(leaves, loss):
    (g,) = ag.autograd.grad(loss, [leaves[0]], create_graph=True)
    g.sum().backward()
    return True


def strike_memory(make, what, n):
    """The n-th allocation of one phase fails. A call that returns although one failed must have done all its work."""
    leaves = leaves_of_program()
    expected = PROGRAMS[make]
    objects = list(leaves)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if what == "forward":
            loss, failed = _starve(n, _forward, make, leaves)
            if not failed:
                loss.backward()
        else:
            loss = make(*leaves)
            if what == "create_graph":
                _, failed = _starve(n, _grad_of_grad, leaves, loss)
            else:
                _, failed = _starve(n, _atomic if what == "atomic" else _backward, loss)
    assert engine.queued_tasks() == 0
    if what in ("forward", "backward"):
        if what == "forward" and failed:
            assert all(leaf.grad is None for leaf in leaves)
        else:
            check_whole(leaves, expected, failed)
    elif what == "atomic" and failed:
        assert all(leaf.grad is None for leaf in leaves)
    elif what == "atomic":
        check_whole(leaves, expected, False)
    if loss is not None:
        objects.append(loss)
    # Where there is no memory for it, list(x) of CPython 3.11 keeps x for ever; forward calls that.
    return failed, objects if what in ("backward", "atomic") else []


PHASES = ("forward", "backward", "atomic", "create_graph")

if AVAILABLE:
    for _make in PROGRAMS:
        for _what in PHASES:
            # What is imported or made on first use is not what these faults are about.
            for _ in range(2):
                strike_memory(_make, _what, 1_000_000)
            kind(f"no memory, {_what}, {_make.__name__}")(
                lambda n, make=_make, what=_what: strike_memory(make, what, n)
            )
    _hold_nested_code()
