"""What rules of primitives read: variables that have the names of globals, and primitives that rules call.

The class: spellings of a variable of a rule x orders of the gradient; bodies of a primitive x places where its rule
finds it. See Note [Function snapshots] (4) in autograd/function_snapshots.py.
"""

import ctypes
import ctypes.util
import math

import numpy as np
import pytest

import arraygrad as ag

w = scale = None


def as_lambdas(p, space):
    p.defvjp(lambda ans, x, w: lambda g: g * w, lambda ans, x, w: lambda g: g * x)


def as_functions(p, space):
    def rule(ans, x, w):
        def pull(g):
            return g * w

        return pull

    def other(ans, x, scale):
        w = scale

        def pull(g):
            return g * (x + 0.0 * w)

        return pull

    p.defvjp(rule, other)


def by_comprehension(p, space):
    p.defvjp(
        lambda ans, x, w: lambda g: g * sum([w for _ in range(1)]),
        lambda ans, x, w: lambda g: g * sum([x for scale in range(1)]),
    )


def by_closure(p, space):
    w = np.ones(2)  # a variable of this function, whose name a global has too
    p.defvjp(lambda ans, x, v: lambda g: g * v * w, lambda ans, x, v: lambda g: g * x * w)


@pytest.mark.parametrize("rules", [as_lambdas, as_functions, by_comprehension, by_closure])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_variable_of_a_rule_is_no_global_of_the_same_name(rules, create_graph):
    global w, scale
    q = ag.primitive(lambda x, w: x * w)
    rules(q, globals())
    w, scale = np.array([2.0, 3.0]), 1.0
    t = ag.tensor([0.5, 0.7], requires_grad=True)
    total = np.sum(q(t, w))
    w, scale = w * 2.0, 7.0
    (g,) = ag.autograd.grad(total, t, create_graph=create_graph)
    np.testing.assert_allclose(g.detach().array, [2.0, 3.0])


def test_a_global_that_a_rule_reads_is_compared_as_before():
    global w
    q = ag.primitive(lambda x: x * 2.0)
    q.defvjp(lambda ans, x: lambda g: g * w)
    w = 2.0
    total = np.sum(q(ag.tensor([0.5, 0.7], requires_grad=True)))
    w = 3.0
    with pytest.raises(RuntimeError, match="w has another value now"):
        total.backward()


exponential = None


@pytest.mark.parametrize("body", ["ctypes", "math", "numpy"])
@pytest.mark.parametrize("place", ["closure", "global"])
def test_a_rule_may_call_its_own_primitive(body, place):
    global exponential
    libm = ctypes.CDLL(ctypes.util.find_library("m")).exp
    libm.restype, libm.argtypes = ctypes.c_double, [ctypes.c_double]
    one = {"ctypes": libm, "math": math.exp, "numpy": np.exp}[body]
    e = exponential = ag.primitive(lambda x: np.array([one(v) for v in x]))
    if place == "closure":
        e.defvjp(lambda ans, x: lambda g: g * e(x))
    else:
        e.defvjp(lambda ans, x: lambda g: g * exponential(x))
    x = np.array([0.5, 0.7])
    assert ag.gradcheck(e, [x])
    np.testing.assert_allclose(ag.hessian(lambda x: np.sum(e(x)))(x), np.diag(np.exp(x)), rtol=1e-13)
    np.testing.assert_allclose(ag.hessian(lambda x: np.sum(ag.grad(lambda y: np.sum(e(y)))(x)))(x), np.diag(np.exp(x)))
