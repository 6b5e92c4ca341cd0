"""Compiled functions that ask for the type numpy.ndarray, in adopted calls: Note [Functions of extensions].

The class: a function of an extension (torch.from_numpy, OpenCV's, Cython's of scikit-learn) x how the program names it
(a module's attribute, an imported name, in the function's body, in a dict, a partial) x what its arguments are (made in
the call, plain, written by it, differentiated). Plain arrays are given over the same memory; what is written on either
side shows on the other, or is refused.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag


def check(f, slope):
    value, gradient = ag.value_and_grad(f)(3.0)
    assert value == pytest.approx(f(3.0), rel=1e-12)
    assert gradient == pytest.approx(slope, rel=1e-12)


def made():
    a = np.zeros(4)
    a[:] = [1.0, 2.0, 4.0, 8.0]
    return a


TORCH = {
    "attribute": """
        import torch
        def tensor_of(a):
            return torch.from_numpy(a)
        """,
    "name": """
        from torch import from_numpy as tensor_of_array
        def tensor_of(a):
            return tensor_of_array(a)
        """,
    "body": """
        def tensor_of(a):
            import torch
            return torch.from_numpy(a)
        """,
    "name in the body": """
        def tensor_of(a):
            from torch import from_numpy
            return from_numpy(a)
        """,
    "dict": """
        import torch
        F = {"t": torch.from_numpy}
        def tensor_of(a):
            return F["t"](a)
        """,
    "partial": """
        import functools, torch
        g = functools.partial(torch.from_numpy)
        def tensor_of(a):
            return g(a)
        """,
}


@pytest.mark.parametrize("spelling", TORCH)
def test_torch_shares_the_memory(program, spelling):
    torch = pytest.importorskip("torch")
    tensor_of = program(withtorch=TORCH[spelling]).tensor_of
    before = torch.from_numpy

    def f(x):
        a = made()
        y = x * a
        t = tensor_of(a)
        a[0] = 5.0
        k = t.sum().item()
        t[1] = 7.0
        return k * x + (y * a).sum()

    check(f, 19.0 + 1.0 * 5.0 + 2.0 * 7.0 + 16.0 + 64.0)
    assert torch.from_numpy is before

    def stored(x):
        a = made()
        t = tensor_of(a)
        a[1] = x
        return t.sum().item() + 0.0 * x

    with pytest.raises(TypeError, match="memory other code has"):
        ag.grad(stored)(3.0)

    def given(x):
        return tensor_of(made() * x).sum().item()

    with pytest.raises(TypeError, match="from_torch"):
        ag.grad(given)(3.0)
    assert f(3.0) == pytest.approx(19.0 * 3.0 + 3.0 * 99.0)


def test_torch_stays_what_it_is(program):
    torch = pytest.importorskip("torch")
    module = program(
        askstorch="""
        import torch
        from torch import Tensor
        def f(x, a):
            t = torch.from_numpy(a)
            assert isinstance(t, torch.Tensor) and type(t) is Tensor
            with torch.no_grad():
                k = torch.nn.functional.relu(t).sum()
            return x * float(k)
        """
    )
    check(lambda x: module.f(x, made()), 15.0)
    assert module.torch is torch


def test_functions_of_opencv(program):
    cv2 = pytest.importorskip("cv2")
    module = program(
        withcv="""
        import cv2
        import numpy as np
        from cv2 import GaussianBlur
        def blurred(x):
            a = np.zeros((5, 5))
            a[2, 2] = 4.0
            out = GaussianBlur(a, (3, 3), 1.0)
            out[0, 0] = x
            return out.sum() * out[2, 2]
        def drawn(x):
            a = np.zeros((5, 5))
            same = cv2.rectangle(a, (1, 1), (3, 3), 2.0, -1)
            same[0, 0] = x
            return a.sum()
        def into(x):
            a, out = np.ones((5, 5)), np.zeros((5, 5))
            y = x * out
            cv2.GaussianBlur(a, (3, 3), 1.0, dst=out)
            return (x * out + y).sum()
        def lost(x):
            return cv2.GaussianBlur(np.ones((5, 5)) * x, (3, 3), 1.0).sum()
        """
    )
    centre = cv2.GaussianBlur(np.pad([[4.0]], 2), (3, 3), 1.0)[2, 2]
    check(module.blurred, centre)
    check(module.drawn, 1.0)
    check(module.into, 25.0)
    with pytest.raises(TypeError, match=r"withcv\.py:\d+, in lost.*OpenCV.*arraygrad\.primitive"):
        ag.grad(module.lost)(3.0)


def test_functions_of_cython(program):
    pytest.importorskip("sklearn")
    module = program(
        withcython="""
        import numpy as np
        from sklearn.utils import arrayfuncs
        from sklearn.utils.arrayfuncs import min_pos
        def least(x):
            a = np.ones(3)
            a[1] = 0.5
            return x * min_pos(a) * arrayfuncs.min_pos(a)
        """
    )
    check(module.least, 0.25)


COMPILED = ("_isotonic._make_unique({0}, {1}, {2})", "_isotonic._inplace_contiguous_isotonic_regression({0}, {1})")


@pytest.mark.parametrize("recorded", range(8))
@pytest.mark.parametrize("call", COMPILED)
def test_what_is_recorded_is_refused_whatever_stands_beside_it(program, call, recorded):
    pytest.importorskip("sklearn._isotonic")
    taken = call.count("{")
    names = [name for i, name in enumerate("abc"[:taken]) if recorded >> i & 1]
    scales = ["x" if name in names else "1.0" for name in "abc"]
    module = program(
        besiderecorded=f"""
        import numpy as np
        from sklearn import _isotonic
        def lost(x):
            a, b, c = np.arange(3.0) * {scales[0]}, np.ones(3) * {scales[1]}, np.full(3, 2.0) * {scales[2]}
            {call.format("a", "b", "c")}
            return x * 2.0
        """
    )
    if not names:
        check(module.lost, 2.0)
        return
    told = (
        rf"Compiled code asks for the memory of a Tensor that requires|[{''.join(names)}] is, or holds, a Tensor where"
    )
    with pytest.raises(TypeError, match=rf"besiderecorded\.py:6, in lost: [^\n]*({told})"):
        ag.grad(module.lost)(3.0)


def test_functions_that_are_bound_to_cpp_say_what_to_write():
    contourpy = pytest.importorskip("contourpy")  # of pybind11
    make = contourpy._contourpy.SerialContourGenerator

    def f(z):
        grid = make(np.arange(2.0), np.arange(2.0), z, (1, 1))
        return grid.lines(0.5)[0].sum()

    with pytest.raises(TypeError, match=r"test_functions_of_extensions.py:\d+, in .*bound to C\+\+.*primitive"):
        ag.grad(f)(np.array([[0.0, 1.0], [1.0, 2.0]]))
