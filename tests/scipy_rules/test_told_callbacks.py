"""What solvers tell a callback refuses its gradient, and is good for everything else."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import OptimizeResult

import arraygrad as ag
from arraygrad.scipy import optimize
from arraygrad.scipy.sparse import linalg

RIGHT = "the result depends on what a callback was told of the search"


@pytest.fixture(autouse=True)
def _without_adoption():
    with ag.set_adoption(False):
        yield


def bowl(x, a):
    return ((x - a) ** 2).sum() + 0.1 * (x**4).sum()


def solved(callback, **options):
    """A loss of `a` with the minimum of a bowl, found while the callback is told."""

    def loss(a):
        return optimize.minimize(bowl, np.zeros(2), args=(a,), callback=callback, **options).x.sum()

    return loss


def keeping(store):
    path = []

    def loss(a):
        path.clear()
        x = optimize.minimize(bowl, np.zeros(2), args=(a,), callback=store(path)).x
        return x.sum() + path[0].sum()

    return loss


@pytest.mark.parametrize(
    "store",
    [
        lambda path: path.append,
        lambda path: lambda xk: path.append(xk.copy()),
        lambda path: lambda xk: path.append(np.sin(xk) * 2.0),
        lambda path: lambda xk: path.append(xk[0]),
        lambda path: lambda xk: path.extend(xk.tolist()),
        lambda path: lambda intermediate_result: path.append(intermediate_result.x),
        lambda path: lambda intermediate_result: path.append(np.asarray([1.0]) * intermediate_result.fun),
        lambda path: lambda intermediate_result: path.append(intermediate_result["x"]),
    ],
)
@pytest.mark.parametrize("adopt", [False, True])
def test_a_loss_of_what_a_callback_kept_is_refused(store, adopt):
    with pytest.raises(TypeError, match=RIGHT):
        ag.grad(keeping(store), adopt=adopt)(0.7)


def test_what_was_kept_through_stop_gradient_is_a_constant():
    loss = keeping(lambda path: lambda xk: path.append(ag.stop_gradient(xk)))
    alone = ag.grad(solved(None))(0.7)
    assert ag.grad(loss)(0.7) == pytest.approx(alone, rel=1e-6)


@pytest.mark.parametrize("adopt", [False, True])
def test_a_callback_shows_and_compares_what_it_is_told(adopt):
    seen = []

    def callback(xk):
        assert f"{xk} {xk[0]:.3f} {xk.tolist()}"
        seen.append(bool(np.linalg.norm(xk) > 0.1) and xk.shape == (2,) and int(xk[0]) == 0)
        np.allclose(xk, 0.0)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ag.value_and_grad(solved(callback), adopt=adopt)(0.7)
    expected = ag.value_and_grad(solved(None))(0.7)
    assert found == expected
    assert any(seen)


@pytest.mark.parametrize(
    "convert",
    [
        lambda xk, kept: float(xk[0]),
        lambda xk, kept: np.asarray(xk),
        lambda xk, kept: np.array([xk, xk]),
        lambda xk, kept: kept.__setitem__(0, xk[0]),
        lambda xk, kept: kept.__setitem__(slice(0, 2), xk),
        lambda xk, kept: xk.tobytes(),
    ],
)
def test_its_numbers_may_leave_with_a_warning(convert):
    kept = np.zeros(2)
    with pytest.warns(UserWarning, match="what a solver tells its callback|has stored numbers in 'kept'") as record:
        found = ag.value_and_grad(solved(lambda xk: [convert(xk, kept)] and None))(0.7)
    assert found == ag.value_and_grad(solved(None))(0.7)
    assert "what a solver tells its callback" in str(record[0].message)


def test_an_array_takes_what_it_is_told_with_a_warning():
    path = np.zeros((20, 2))
    rows = iter(path)

    def callback(xk):
        row = next(rows)
        row[:] = xk
        row[0] = xk[0]

    with pytest.warns(UserWarning, match="what a solver tells its callback"):
        ag.grad(solved(callback))(0.7)
    assert path[0].any()


def test_policy_off_turns_the_warning_off():
    with ag.number_policy("off"), warnings.catch_warnings():
        warnings.simplefilter("error")
        ag.grad(solved(lambda xk: float(xk[0]) and None))(0.7)


def test_a_number_with_a_recorded_part_is_still_refused():
    def loss(a):
        return optimize.minimize(bowl, np.zeros(2), args=(a,), callback=lambda xk: float(xk[0] * a) and None).x.sum()

    with pytest.raises(TypeError, match="becomes a Python number"):
        ag.grad(loss)(0.7)


def test_a_callback_stops_the_search_as_before():
    def stops(intermediate_result):
        if intermediate_result.nit >= 1 if "nit" in intermediate_result else intermediate_result.fun < 10.0:
            raise StopIteration

    def iterations(callback):
        a = ag.tensor(0.7, requires_grad=True)
        return optimize.minimize(bowl, np.zeros(2), args=(a,), callback=callback).nit

    assert iterations(stops) == 1
    assert iterations(None) > 1


def test_a_truth_value_of_a_callback_stops_the_search():
    a = ag.tensor(0.7, requires_grad=True)
    bounds = [(-1.0, 2.0), (-1.0, 2.0)]
    result = optimize.differential_evolution(
        bowl, bounds, args=(a,), callback=lambda xk, convergence: xk[0] > -5.0, seed=1, polish=False
    )
    assert result.nit == 1


def told_by(solver):
    told = []

    def callback(*args, **kwargs):
        told.extend([*args, *kwargs.values()])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver(callback)
    return told


A = sparse.csr_array(np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]]))
BOUNDS = [(-1.0, 2.0), (-1.0, 2.0)]


@pytest.mark.parametrize(
    "solver",
    [
        lambda a, c: optimize.root(lambda x, a: x**3 + x - a, np.zeros(2), args=(a,), method="krylov", callback=c),
        lambda a, c: optimize.fmin_bfgs(bowl, np.zeros(2), args=(a,), callback=c, disp=False),
        lambda a, c: optimize.fmin_l_bfgs_b(bowl, np.zeros(2), args=(a,), callback=c, approx_grad=True),
        lambda a, c: optimize.basinhopping(lambda x: bowl(x, a), np.zeros(2), niter=2, callback=c),
        lambda a, c: optimize.dual_annealing(lambda x: bowl(x, a), BOUNDS, maxiter=5, callback=c),
        lambda a, c: optimize.shgo(lambda x: bowl(x, a), BOUNDS, callback=c),
        lambda a, c: optimize.minimize(bowl, np.zeros(2), args=(a,), method="trust-constr", callback=c),
        lambda a, c: linalg.cg(A, a * np.ones(3), callback=c),
        lambda a, c: linalg.gmres(A, a * np.ones(3), callback=c, callback_type="x"),
        lambda a, c: linalg.bicgstab(A, a * np.ones(3), callback=c),
    ],
)
def test_every_solver_tells_tensors(solver):
    told = told_by(lambda callback: solver(ag.tensor(0.7, requires_grad=True), callback))
    floats = [
        one for value in told for one in (value.values() if isinstance(value, OptimizeResult) else [value])
        if getattr(one, "dtype", np.dtype(bool)).kind == "f" if isinstance(one, (np.ndarray, np.floating))
    ]  # fmt: skip
    tensors = [one for one in told if isinstance(one, ag.Tensor)]
    tensors += [one.x for one in told if isinstance(one, OptimizeResult)]
    assert not floats
    assert tensors
    with pytest.raises(TypeError, match=RIGHT):
        ag.autograd.backward(tensors[0].sum())


def test_constants_are_told_as_arrays():
    told = told_by(lambda c: optimize.minimize(bowl, np.zeros(2), args=(0.7,), callback=c))
    told += told_by(lambda c: optimize.minimize(bowl, np.zeros(2), args=(ag.tensor(0.7),), callback=c))
    with ag.no_grad():
        a = ag.tensor(0.7, requires_grad=True)
        told += told_by(lambda c: optimize.minimize(bowl, np.zeros(2), args=(a,), callback=c))
    assert told
    assert all(type(xk) is np.ndarray for xk in told)


def test_the_gradients_system_tells_the_callback_nothing():
    steps = []

    def loss(b):
        return linalg.cg(A, b, callback=lambda xk: steps.append(1), rtol=1e-12)[0].sum()

    loss(ag.tensor(np.ones(3), requires_grad=True))
    forward = len(steps)
    steps.clear()
    ag.grad(loss)(np.ones(3))
    assert len(steps) == forward > 0


def test_a_tolerance_that_requires_grad_is_a_setting():
    root = lambda a: optimize.brentq(lambda x, a: x**3 - a, 0.0, 2.0, args=(a,), xtol=a * 1e-12)
    assert ag.grad(root)(2.0) == pytest.approx(2.0 ** (-2 / 3) / 3, rel=1e-9)


def test_a_grid_point_that_is_no_minimum_is_refused():
    def nearest(a):
        return optimize.brute(lambda x, a: (x[0] - a) ** 2, ((0.0, 1.0),), args=(a,), Ns=21, finish=None)

    with pytest.raises(ag.implicit.ConvergenceError, match="no solution"):
        ag.grad(nearest)(0.52)
