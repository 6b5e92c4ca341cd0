"""How functions of `arraygrad.scipy` take their arguments, what they refuse, and what they agree with elsewhere."""

import importlib.util
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import optimize as plain_optimize

pytest.importorskip("scipy", reason="SciPy, which is optional, is not installed")
import scipy
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.special
import scipy.stats

import arraygrad as ag
from arraygrad.scipy import (
    counterparts,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    stats,
)
from arraygrad.scipy import special as special


def leaf(*values):
    return ag.tensor(np.array(values), requires_grad=True)


def test_importing_arraygrad_does_not_import_scipy():
    code = "import sys, arraygrad; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_plain_arguments_give_what_scipy_gives():
    x = np.array([0.3, 0.7])
    found = stats.norm.logpdf(x, loc=0.1)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, scipy.stats.norm.logpdf(x, loc=0.1))


def test_a_tensor_that_requires_no_grad_gives_one():
    found = linalg.expm(ag.asarray(np.eye(2)))
    assert isinstance(found, ag.Tensor)
    assert not found.requires_grad


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: stats.norm.fit(x), "stats.norm.fit: an argument requires grad"),
        (lambda x: stats.gamma(x).rvs(), "stats.gamma.rvs: an argument requires grad"),
        (lambda x: stats.shapiro(x), "stats.shapiro: an argument requires grad"),
        (lambda x: linalg.null_space(x[None, :]), "null_space: .* one of many bases"),
        (lambda x: stats.zscore(x, nan_policy="omit"), "nan_policy='omit'"),
        (lambda x: stats.binom.logpmf(x, 3, 0.2), "argument 'k' requires grad.*an integer"),
        (lambda x: stats.poisson.ppf(0.3, x), "its result is an integer"),
        (lambda x: special.jvp(x, 1.0), "argument 'v' requires grad.*order of a Bessel function"),
        (lambda x: special.sph_harm_y(2, 1, x, x, diff_n=1), "diff_n=1"),
        (lambda x: signal.place_poles(np.eye(2), np.eye(2), x), "place_poles: an argument requires grad"),
        (lambda x: interpolate.UnivariateSpline([0.0, 1.0], x, k=1), "smoothing spline"),
        (
            lambda x: interpolate.CubicSpline([0.0, 1.0, 2.0], [x[0], x[1], x[0]]).extend(x, x),
            "extend: an argument requires",
        ),
        (lambda x: signal.dstep(([1.0], [1.0, 0.3], x[0])), "time step of a discrete system requires grad"),
        (lambda x: signal.findfreqs([1.0], x, 5), "frequencies that SciPy chooses"),
        (lambda x: ndimage.distance_transform_edt(np.eye(3), sampling=x), "the sampling has no rule"),
        (lambda x: fft.fht(np.ones(4), x[0], 0.3), "argument 'dln' requires grad"),
        (lambda x: sparse.linalg.spilu(sparse.csc_array(np.eye(2) * x[0])), "require grad"),
    ],
)
def test_what_has_no_rule_is_refused_by_name(call, message):
    with pytest.raises(TypeError, match=message):
        call(leaf(0.4, 0.9))


def test_under_no_grad_nothing_is_refused():
    with ag.no_grad():
        assert stats.norm.fit(leaf(1.0, 2.0)) == (1.5, 0.5)


def test_out_is_refused_where_a_gradient_would_be_lost():
    x = leaf(0.4, 0.9)
    with pytest.raises(TypeError, match="out="):
        special.ellipk(x, out=np.zeros(2))
    with pytest.raises(TypeError, match="out= takes plain arrays"):
        special.ellipk(x.detach(), out=leaf(0.0, 0.0))


def test_an_attribute_that_scipy_lacks_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        stats.nonsense  # noqa: B018


def test_a_callback_with_a_lost_gradient_is_refused():
    x = leaf(0.4, 0.9)
    with pytest.raises(TypeError, match="depends on a Tensor that requires grad, but it has no rule"):
        optimize.bracket(lambda z: (z * x).sum())


class Held:
    """A function whose parameter no closure shows."""

    def __init__(self, a):
        self.a = a

    def residual(self, x):
        return x * x - self.a


def test_a_parameter_in_an_attribute_is_found():
    a = leaf(2.0)[0]
    plain = lambda a: plain_optimize.brentq(Held(a).residual, 0.0, 3.0)
    found = ag.autograd.grad(optimize.brentq(Held(a).residual, 0.0, 3.0), a)[0]
    assert found.item() == pytest.approx((plain(2.0 + 1e-6) - plain(2.0 - 1e-6)) / 2e-6, rel=1e-5)


@pytest.mark.parametrize(
    "solve",
    [
        lambda o, f, a: o.fsolve(f, [0.5, 0.5], (a,)),
        lambda o, f, a: o.fsolve(lambda p: f(p, a), [0.5, 0.5]),
        lambda o, f, a: o.root(lambda p, a: tuple(f(p, a)), [0.5, 0.5], (a,)).x,
        lambda o, f, a: o.root(f, [0.5, 0.5], (a,), jac=lambda p, a: [[1.0, 1.0], [0.0, 1.0]]).x,
        lambda o, f, a: o.root(lambda p, a: (f(p, a), np.asarray([[1.0, 1.0], [0.0, 1.0]])), [0.5, 0.5], (a,),
                               jac=True).x,
        lambda o, f, a: o.broyden1(lambda p: f(p, a), [0.5, 0.5], f_tol=1e-10),
        lambda o, f, a: o.least_squares(f, [0.5, 0.5], args=(a,), xtol=1e-12, ftol=1e-12, gtol=1e-12).x,
        lambda o, f, a: o.leastsq(f, [0.5, 0.5], (a,))[0],
        lambda o, f, a: o.minimize(lambda p: (f(p, a)[0] ** 2 + f(p, a)[1] ** 2, np.stack(
            [2.0 * f(p, a)[0], 2.0 * f(p, a)[0] + 2.0 * f(p, a)[1]])), [0.5, 0.5], jac=True, tol=1e-9).x,
    ],
)  # fmt: skip
@pytest.mark.parametrize("adopt", [False, True])
def test_a_callback_may_return_a_list(solve, adopt):
    def equations(p, a):  # p[1] = sqrt(a), p[0] = a - sqrt(a)
        return [p[0] + p[1] - a, p[1] - a**0.5]

    of = scipy.optimize if adopt else optimize
    found, pull = ag.vjp(lambda a: solve(of, equations, a)[0] * 1.0, 4.0, adopt=adopt)
    np.testing.assert_allclose(found, 2.0, rtol=1e-6)
    np.testing.assert_allclose(pull(1.0)[0], 0.75, rtol=1e-5)


def test_a_parameter_behind_a_list_is_found():
    a = leaf(2.0)[0]
    held = Held(a)
    plain = lambda a: plain_optimize.fsolve(lambda p: [Held(a).residual(p[0])], [1.0], xtol=1e-10)[0]
    found = ag.autograd.grad(optimize.fsolve(lambda p: [held.residual(p[0])], [1.0], xtol=1e-10)[0], a)[0]
    assert found.item() == pytest.approx((plain(2.0 + 1e-5) - plain(2.0 - 1e-5)) / 2e-5, rel=1e-5)


def test_tensors_in_closures_partials_and_defaults_are_found():
    from functools import partial

    def power(x, a, p=2.0):
        return x**p - a

    a = leaf(4.0)[0]
    roots = [
        optimize.brentq(lambda x: power(x, a), 0.0, 5.0),
        optimize.brentq(partial(power, a=a), 0.0, 5.0),
        optimize.brentq(lambda x, a=a: power(x, a), 0.0, 5.0),
    ]
    for root in roots:
        (g,) = ag.autograd.grad(root, [a])
        np.testing.assert_allclose(g.numpy(), 0.25)


def test_arguments_may_be_lists_of_tensors_and_keywords():
    a, b = leaf(0.3)[0], leaf(0.8)[0]
    found = stats.norm.logpdf([a, b, 0.1], loc=b, scale=2.0).sum()
    ga, gb = ag.autograd.grad(found, [a, b])
    np.testing.assert_allclose([ga.item(), gb.item()], [0.125, (0.3 - 0.8 + 0.1 - 0.8) / 4.0], rtol=1e-12)


def test_overwriting_is_not_done_to_a_recorded_argument():
    a = ag.tensor(np.array([[2.0, 0.3], [0.1, 1.0]]), requires_grad=True)
    before = a.numpy().copy()
    linalg.solve(a, np.ones(2), overwrite_a=True).sum().backward()
    np.testing.assert_array_equal(a.numpy(), before)


def test_an_argument_written_between_is_refused():
    x, w = leaf(1.0, 2.0, 3.0), np.array([0.2, 0.5, 0.3])
    found = ndimage.correlate1d(x, w).sum()
    w[0] = 7.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        found.backward()


def test_a_shape_parameter_alone_may_be_differentiated_at_numbers():
    for name, shapes in {"gamma": (2.3,), "t": (4.2,), "lognorm": (0.7,), "weibull_min": (1.4,)}.items():
        for method in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"):
            ours, theirs = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
            found = ag.grad(lambda s: ours(0.8, s))(*shapes)  # noqa: B023
            ends = [float(theirs(0.8, shapes[0] + sign * 1e-5)) for sign in (1.0, -1.0)]
            np.testing.assert_allclose(found, (ends[0] - ends[1]) / 2e-5, rtol=1e-6)
    assert np.isfinite(ag.grad(lambda p: stats.binom.logcdf(1, 4, p))(0.3))


def test_a_gradient_outside_of_the_support_is_zero_and_nan_for_bad_parameters():
    x = leaf(-1.0, 0.5)
    stats.expon.pdf(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [0.0, -np.exp(-0.5)])
    a = leaf(-1.0, 2.0)
    stats.gamma.logpdf(0.5, a).sum().backward()
    assert np.isnan(a.grad.numpy()[0])
    assert np.isfinite(a.grad.numpy()[1])


def test_tails_keep_relative_accuracy():
    # d log(cdf) / da of a gamma variable, where the cdf itself is 1e-83: by the first term of its power series.
    g = ag.grad(lambda a: stats.gamma.logcdf(1e-6, a))(15.0)
    np.testing.assert_allclose(g, np.log(1e-6) - scipy.special.digamma(16.0), rtol=1e-6)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_gradients_have_the_dtype_of_their_argument(name):
    a = ag.tensor(np.array([[2.0, 0.3], [0.1, 1.0]], dtype=name), requires_grad=True)
    found = linalg.inv(a)
    assert found.numpy().dtype == name
    found.sum().backward()
    assert a.grad.numpy().dtype == name
    x = ag.tensor(np.array([0.3, 0.8], dtype=name), requires_grad=True)
    stats.norm.cdf(x).sum().backward()
    assert x.grad.numpy().dtype == name


def test_frozen_distributions_reach_their_parameters():
    def f(mu, sd):
        frozen = stats.norm(mu, scale=sd)
        return frozen.logpdf(np.array([0.2, 0.9])).sum() + frozen.mean() + frozen.var() + frozen.ppf(0.8)

    found = ag.grad(f, argnums=(0, 1))(0.3, 1.4)
    expected = ag.grad(
        lambda mu, sd: (
            stats.norm.logpdf(np.array([0.2, 0.9]), mu, sd).sum() + mu + sd * sd + mu + sd * scipy.stats.norm.ppf(0.8)
        ),
        argnums=(0, 1),
    )(0.3, 1.4)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert stats.norm(0.0, 1.0).support() == (-np.inf, np.inf)


def test_nearest_neighbours_are_chosen_and_their_distances_differentiated():
    points = ag.tensor(np.array([[0.0, 0.0], [3.0, 4.0]]), requires_grad=True)
    distances, places = spatial.KDTree(points).query(np.array([[0.0, 1.0], [3.0, 2.0]]))
    np.testing.assert_array_equal(places, [0, 1])
    distances.sum().backward()
    np.testing.assert_allclose(points.grad.numpy(), [[0.0, -1.0], [0.0, 1.0]])


def test_a_matrix_of_scipys_has_products_and_sums():
    plain = scipy.sparse.csr_array(np.diag([2.0, 3.0]))
    x = leaf(1.0, 2.0)
    (sparse.csr_array(plain) @ x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [2.0, 3.0])
    (plain @ x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [4.0, 6.0])
    total = plain + x
    np.testing.assert_array_equal(total.detach().numpy(), [[3.0, 2.0], [1.0, 5.0]])
    total.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [6.0, 8.0])


def test_counterparts_lead_from_scipys_objects_to_ours():
    found = counterparts()
    assert found[scipy.stats.norm] is stats.norm
    assert found[scipy.linalg.expm] is linalg.expm
    assert found[scipy.integrate.quad] is integrate.quad
    assert found[scipy.sparse.csr_array] is sparse.csr_array
    assert len(found) > 500
    assert counterparts("linalg").keys() < found.keys()
    assert scipy.stats.norm not in counterparts("linalg")


# -- other libraries --------------------------------------------------------------------------------------------------


def test_a_tensor_of_another_library_is_refused_with_the_way_out():
    torch = pytest.importorskip("torch")
    x = ag.asarray(torch.eye(2, dtype=torch.float64)).requires_grad_()
    with pytest.raises(TypeError, match="to_backend"):
        linalg.expm(x)
    linalg.expm(ag.to_backend(x, "numpy")).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.e * np.ones((2, 2)))


def by_torch(f, *arrays):
    torch = pytest.importorskip("torch")
    tensors = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays]
    return [g.numpy() for g in torch.autograd.grad(f(torch, *tensors).sum(), tensors)]


X = np.array([0.4, 0.9, 1.6])
SQUARE = np.array([[2.0, 0.3, 0.1], [0.4, 1.5, -0.2], [0.0, 0.2, 1.0]])
WITH_TORCH = {
    "normal": (stats.norm.logpdf, lambda t, x, m, s: t.distributions.Normal(m, s).log_prob(x), (X, 0.3, 1.4)),
    "gamma": (stats.gamma.logpdf, lambda t, x, a: t.distributions.Gamma(a, 1.0).log_prob(x), (X, 2.3)),
    "beta": (stats.beta.logpdf, lambda t, x, a, b: t.distributions.Beta(a, b).log_prob(x), (X / 2.0, 2.3, 1.4)),
    "student": (stats.t.logpdf, lambda t, x, df: t.distributions.StudentT(df).log_prob(x), (X, 4.3)),
    "poisson": (lambda m: stats.poisson.logpmf(3, m), lambda t, m: t.distributions.Poisson(m).log_prob(
        t.tensor(3.0)), (X,)),
    "dirichlet": (lambda a: stats.dirichlet.logpdf([0.2, 0.3, 0.5], a), lambda t, a: t.distributions.Dirichlet(
        a).log_prob(t.tensor([0.2, 0.3, 0.5], dtype=t.float64)), (X + 1.0,)),
    "expm": (linalg.expm, lambda t, a: t.linalg.matrix_exp(a), (SQUARE,)),
    "inv": (linalg.inv, lambda t, a: t.linalg.inv(a), (SQUARE,)),
    "lu": (lambda a: linalg.lu(a)[2], lambda t, a: t.linalg.lu(a)[2], (SQUARE,)),
    "hurwitz": (lambda q: special.zeta(3.0, q), lambda t, q: t.special.zeta(t.tensor(3.0), q), (X,)),
    "convolution": (lambda x: signal.convolve(x, [1.0, 0.5], "valid"), lambda t, x: t.nn.functional.conv1d(
        x[None, None], t.tensor([[[0.5, 1.0]]], dtype=t.float64)), (X,)),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_TORCH)
def test_gradients_are_those_of_torch(name):
    ours, theirs, arrays = WITH_TORCH[name]
    tensors = [ag.tensor(np.asarray(a), requires_grad=True) for a in arrays]
    found = ag.autograd.grad(ours(*tensors).sum(), tensors)
    for g, expected in zip(found, by_torch(theirs, *arrays), strict=True):
        np.testing.assert_allclose(g.numpy(), expected, rtol=1e-10, atol=1e-12)


TRUNCATED = {
    "kn": ((2.6,), (2,)), "yn": ((0.6,), (0,)), "expn": ((2.5,), (2,)), "bdtr": ((1.0, 3.6), (1.0, 3)),
    "bdtrc": ((1.0, 3.6), (1.0, 3)), "bdtri": ((1.0, 3.6), (1.0, 3)), "nbdtr": ((2.3, 1.0), (2, 1)),
    "nbdtrc": ((2.0, 1.6), (2, 1)), "nbdtri": ((2.3, 1.6), (2, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUNCATED)
def test_orders_that_scipy_truncates_have_to_be_whole(name):
    broken, whole = TRUNCATED[name]
    ours, theirs = getattr(special, name), getattr(scipy.special, name)
    with pytest.raises(TypeError, match="is no whole number"):
        ag.grad(lambda x: ours(*broken, x))(0.4)
    slope = (theirs(*whole, 0.4 + 1e-5) - theirs(*whole, 0.4 - 1e-5)) / 2e-5
    np.testing.assert_allclose(ag.grad(lambda x: ours(*whole, x))(0.4), slope, rtol=1e-6)


@pytest.mark.parametrize("name", ["gammaln", "ellipk", "ndtr"])
def test_keywords_of_a_ufunc_are_scipys_for_plain_arrays_and_refused_for_others(name):
    ours, theirs = getattr(special, name), getattr(scipy.special, name)
    x, out, mask = np.array([0.3, 0.6]), np.full(2, 7.0), np.array([True, False])
    assert ours(x, out=out, where=mask) is out
    np.testing.assert_array_equal(out, [theirs(0.3), 7.0])
    with pytest.raises(TypeError, match="keywords"):
        ours(leaf(0.3, 0.6), where=mask)


@pytest.mark.parametrize("name", ["randint", "hypergeom", "nhypergeom"])
def test_a_distribution_without_rules_is_scipys_object_and_refuses_gradients(name):
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    shapes = {"randint": (1, 5), "hypergeom": (20, 7, 12), "nhypergeom": (20, 7, 12)}[name]
    assert isinstance(ours, type(theirs))
    assert ours.name == name
    np.testing.assert_array_equal(ours.cdf(0.7, *shapes), theirs.cdf(0.7, *shapes))
    np.testing.assert_array_equal(ours(*shapes).std(), theirs(*shapes).std())
    assert pickle.loads(pickle.dumps(ours)) is ours
    with pytest.raises(TypeError, match=f"stats.{name}.cdf: an argument requires grad"):
        ours.cdf(leaf(0.7), *shapes)
    with pytest.raises(TypeError, match=f"stats.{name}: an argument requires grad"):
        ours(loc=leaf(0.7))


def decay(k, jac):
    return integrate.solve_ivp(
        lambda t, y: -k * y, (0.0, 1.0), np.ones(1), method="BDF", rtol=1e-9, atol=1e-11, t_eval=[1.0], jac=jac(k)
    ).y[0, 0]


@pytest.mark.parametrize("jac", [
    lambda k: lambda t, y: -k * np.eye(1), lambda k: lambda t, y: -1.3 * np.eye(1), lambda k: -1.3 * np.eye(1),
], ids=["of the parameter", "function", "matrix"])  # fmt: skip
def test_the_jacobian_of_an_equation_is_the_solvers_own_affair(jac):
    np.testing.assert_allclose(ag.grad(lambda k: decay(k, jac))(1.3), -np.exp(-1.3), rtol=1e-6)


STACK = np.stack([SQUARE @ SQUARE.T + np.eye(3), 2.0 * np.eye(3) + 0.1])
RIGHT = np.arange(6.0).reshape(2, 3, 1)
TALL = np.concatenate([SQUARE, X[None, :]])
OF_STACKS = {
    "cho_solve": (lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b), STACK, RIGHT),
    "cho_solve lower": (lambda a, b: linalg.cho_solve(linalg.cho_factor(a, lower=True), b), STACK, RIGHT),
    "lstsq": (lambda a, b: linalg.lstsq(a, b)[0], np.stack([TALL, TALL[::-1] + 0.2]), np.arange(8.0).reshape(2, 4, 1)),
    "residues": (lambda a, b: linalg.lstsq(a, b)[1], np.stack([TALL, TALL[::-1] + 0.2]),
                 np.arange(8.0).reshape(2, 4, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_STACKS)
def test_a_stack_has_the_gradients_of_its_matrices(name):
    f, a, b = OF_STACKS[name]
    total = lambda a, b: f(a, b).sum()
    found = ag.grad(total, argnums=(0, 1))(a, b)
    single = [ag.grad(total, argnums=(0, 1))(a[i], b[i]) for i in range(2)]
    for j in range(2):
        np.testing.assert_allclose(found[j], np.stack([one[j] for one in single]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("m", [0.0, 1e-12, -1e-7, 0.019, 0.021, -0.3])
@pytest.mark.parametrize(("name", "slope"), [
    ("ellipkinc", lambda s, m: 0.5 * s * (1.0 - m * s) ** -1.5),
    ("ellipeinc", lambda s, m: -0.5 * s * (1.0 - m * s) ** -0.5),
])  # fmt: skip
def test_incomplete_elliptic_integrals_have_the_slope_of_their_integrand_in_m(name, slope, m):
    ours = getattr(special, name)
    expected = scipy.integrate.quad(lambda t: slope(np.sin(t) ** 2, m), 0.0, 0.8, epsabs=1e-14)[0]
    np.testing.assert_allclose(ag.grad(lambda m: ours(0.8, m))(m), expected, rtol=1e-11)
    h = 1e-4
    second = (ag.grad(lambda m: ours(0.8, m))(m + h) - ag.grad(lambda m: ours(0.8, m))(m - h)) / (2.0 * h)
    np.testing.assert_allclose(ag.grad(ag.grad(lambda m: ours(0.8, m)))(m), second, rtol=1e-5)


def test_modules_that_scipy_leaves_to_be_imported_are_found():
    if importlib.util.find_spec("scipy.linalg.interpolative") is None:
        pytest.skip("this version of SciPy does not have the module")
    code = "from arraygrad.scipy import linalg; print(linalg.interpolative.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "scipy.linalg.interpolative"
