"""Lists and nested lists of recorded numbers, in the place of arrays, have the gradient of the arrays.

The class: every sample of a function of SciPy x each of its arrays, in `arraygrad.scipy` and in SciPy's own name.
Methods of objects that take points have cases of their own. A refusal is an error that is raised; what is looked for
is a gradient that differs without one.
"""

import importlib
import itertools
import pathlib

import numpy as np
import pytest
import scipy.spatial
from scipy_samples import SAMPLES

import arraygrad as ag
import arraygrad.scipy

for _path in sorted(pathlib.Path(__file__).parent.glob("samples_*.py")):
    importlib.import_module(_path.stem)

SMALL = [(number, *entry[:3]) for number, entry in enumerate(SAMPLES) if all(0 < np.size(a) <= 64 for a in entry[2])]
WEIGHTS = np.random.default_rng(0).normal(size=4096)


def listed(t):
    return [listed(t[i]) for i in range(t.shape[0])] if t.ndim else t


def numbers_in(found):
    if isinstance(found, (tuple, list)):
        for part in found:
            yield from numbers_in(part)
    elif isinstance(found, (ag.Tensor, np.ndarray, float, np.generic)):
        yield found


def function_of(root, name):
    for part in name.split("."):
        if not hasattr(root, part):
            importlib.import_module(f"{root.__name__}.{part}")
        root = getattr(root, part)
    return root


def loss_of(call, function):
    def loss(*arrays):
        total, k = 0.0, 0
        for part in numbers_in(call(function, *arrays)):
            if getattr(part, "dtype", np.dtype(float)).kind not in "fc":
                continue
            n = int(np.prod(np.shape(part)))
            total, k = total + np.sum(WEIGHTS[k : k + n].reshape(np.shape(part)) * np.real(part)), k + n
        return total

    return loss


@pytest.mark.parametrize("group", range(12))
def test_lists_have_the_gradient_of_arrays(group):
    compared = 0
    for (_, name, call, arrays), root in itertools.product(SMALL[group::12], (arraygrad.scipy, scipy)):
        every = tuple(range(len(arrays)))
        try:
            loss = loss_of(call, function_of(root, name))
            expected = ag.grad(loss, argnums=every)(*arrays)
        except Exception:  # a sample that has no such name, or is no function of arrays in this spelling
            continue
        for place, array in enumerate(arrays):
            if not array.ndim:
                continue

            def of_lists(*given, place=place, loss=loss):
                return loss(*[listed(a) if i == place else a for i, a in enumerate(given)])

            try:
                found = ag.grad(of_lists, argnums=every)(*arrays)
            except Exception:  # lists have no attributes of arrays, which the call or SciPy asks
                continue
            compared += 1
            for ours, wanted in zip(found, expected, strict=True):
                np.testing.assert_allclose(ours, wanted, rtol=1e-6, atol=1e-9, err_msg=f"{name}, array {place}")
    assert compared > 200


P = np.array([[0.0, 0.0], [1.0, 2.0], [2.5, 0.4]])
OBJECTS = {
    "query": lambda m, x: m.KDTree(P).query([x, 0.2])[0],
    "query of a tuple": lambda m, x: m.KDTree(P).query((x, 0.2))[0],
    "query of rows": lambda m, x: np.sum(m.KDTree(P).query([[x, 0.2], [0.1, x]])[0]),
    "query of two": lambda m, x: np.sum(m.KDTree(P).query([x, 0.2], k=2)[0]),
    "cKDTree": lambda m, x: m.cKDTree(P).query([x, 0.2])[0],
    "tree of rows": lambda m, x: m.KDTree([[x, 0.1], [3.0, 4.0]]).query([0.3, 0.2])[0],
    "tree and query": lambda m, x: m.KDTree([[x, 0.1], [3.0, 4.0]]).query([x * x, 0.2])[0],
    "hull": lambda m, x: m.ConvexHull([[0.0, 0.0], [x, 0.0], [0.0, 1.0]]).volume,
    "hull's area": lambda m, x: m.ConvexHull([[0.0, 0.0], [x, 0.0], [0.0, 1.0]]).area,
}


@pytest.mark.parametrize("name", OBJECTS)
def test_points_in_lists_are_recorded(name):
    import arraygrad.scipy.spatial as ours

    x, step = 0.7, 1e-6
    plain = [OBJECTS[name](scipy.spatial, x + s) for s in (step, -step)]
    wanted = (plain[0] - plain[1]) / (2.0 * step)
    for module in (ours, scipy.spatial):
        assert ag.grad(lambda x, module=module: OBJECTS[name](module, x))(x) == pytest.approx(wanted, rel=1e-7)
