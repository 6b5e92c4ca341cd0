"""cholesky, eigh and eigvalsh read one triangle: their gradient is that of the elements they read.

So it is right for a matrix stored in one triangle, and, as symmetrizing shares it between both, for symmetric ones.
References: central differences, and for symmetric arguments the formulas of PyTorch, which gives the Hermitian matrix.
"""

import pickle
import warnings

import numpy as np
import pytest
from fast_path_cases import DTYPES, plain

import arraygrad as ag
from arraygrad.backends.numpy.linalg import has_lapack, use_lapack
from arraygrad.testing import gradcheck, gradgradcheck


def positive(n, kind="f", seed=0, stack=()):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(*stack, n, n))
    if kind == "c":
        a = a + 1j * rng.normal(size=(*stack, n, n))
    return a @ a.conj().swapaxes(-1, -2) + n * np.eye(n)


def leaf(a):
    return ag.tensor(a, requires_grad=True)


def size(z):
    return ag.real(z * ag.conj(z)) if z.dtype.kind == "c" else z * z


FUNCTIONS = {
    "cholesky": lambda a: np.linalg.cholesky(a),
    "cholesky upper": lambda a: np.linalg.cholesky(a, upper=True),
    "eigvalsh": lambda a: np.linalg.eigvalsh(a),
    "eigvalsh U": lambda a: np.linalg.eigvalsh(a, "U"),
    "eigh values": lambda a: np.linalg.eigh(a)[0],
    "eigh vectors": lambda a: size(np.linalg.eigh(a)[1]),
    "eigh U vectors": lambda a: size(np.linalg.eigh(a, "U")[1]),
    "eigh both": lambda a: sum(abs(v) * w[..., None, :] for w, v in [np.linalg.eigh(a)]),
}


def of_triangle(name, a):
    """`a` with numbers in the triangle that the function does not read that make no sense there."""
    junk = np.full(a.shape, 77.0)
    return np.where(
        np.tri(a.shape[-1], dtype=bool).T if " U" in name or "upper" in name else np.tri(a.shape[-1]) > 0, a, junk
    )


@pytest.mark.parametrize("kind", ["f", "c"])
@pytest.mark.parametrize("stack", [(), (2,)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_is_that_of_the_elements_that_are_read(name, stack, kind):
    f, a = FUNCTIONS[name], positive(3, kind, stack=stack)
    for x in (a, of_triangle(name, a)):
        assert gradcheck(f, leaf(x))


@pytest.mark.parametrize("kind", ["f", "c"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_is_right_to_second_order(name, kind):
    f, a = FUNCTIONS[name], positive(3, kind, seed=1)
    assert gradgradcheck(f, leaf(of_triangle(name, a)))


@pytest.mark.parametrize("kind", ["f", "c"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_of_a_symmetrized_argument_is_right_too(name, kind):
    f = FUNCTIONS[name]

    def symmetrized(a):
        return f((a + ag.conj(ag.matrix_transpose(a))) / 2)

    assert gradcheck(symmetrized, leaf(positive(3, kind)))
    assert gradgradcheck(symmetrized, leaf(positive(3, kind)))


@pytest.mark.parametrize("lapack", [True, False])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_of_a_stored_triangle_agrees_with_differences_on_every_path(upper, lapack):
    if lapack and not has_lapack():
        pytest.skip("the library behind numpy.linalg does not say the size of its integers")
    keep = np.triu if upper else np.tril
    stored = keep(positive(5))
    previous = use_lapack(lapack)
    try:

        def check():
            assert gradcheck(lambda a: np.linalg.cholesky(keep(a), upper=upper), leaf(stored))
            assert gradcheck(lambda a: np.linalg.cholesky(a, upper=upper), leaf(stored))
            # only the diagonal is used: a path of its own
            logs = lambda a: ag.sum(ag.log(ag.linalg.diagonal(np.linalg.cholesky(a, upper=upper))))
            assert gradcheck(logs, leaf(stored))
            assert gradcheck(lambda a: -logs(a), leaf(stored))

        check()
        plain(check)
    finally:
        use_lapack(previous)


def test_numbers_of_a_small_case():
    # L = [[2, 0], [1, 3]], x = L L^T = [[4, 2], [2, 10]]; f = L22 = sqrt(x22 - x21^2 / x11) reads x11, x21 and x22:
    # df/dx22 = 1/(2 L22) = 1/6, df/dx21 = -x21 / (x11 L22) = -1/6, df/dx11 = x21^2 / (2 x11^2 L22) = 1/24
    x = leaf(np.array([[4.0, 77.0], [2.0, 10.0]]))
    np.linalg.cholesky(x)[1, 1].backward()
    np.testing.assert_allclose(x.grad.numpy(), [[1 / 24, 0.0], [-1 / 6, 1 / 6]], rtol=1e-14)
    x = leaf(np.array([[4.0, 2.0], [77.0, 10.0]]))
    np.linalg.cholesky(x, upper=True)[1, 1].backward()
    np.testing.assert_allclose(x.grad.numpy(), [[1 / 24, -1 / 6], [0.0, 1 / 6]], rtol=1e-14)


@pytest.mark.parametrize("kind", ["f", "c"])
def test_pytorchs_symmetric_gradient_is_the_mean_with_the_adjoint(kind):
    # log det x = 2 sum(log diag L), whose Hermitian gradient is x^-1 (conjugated twice), as torch.linalg.cholesky gives
    a = positive(4, kind)
    x = leaf(a)
    logs = ag.log(ag.real(ag.linalg.diagonal(np.linalg.cholesky(x))))
    (2.0 * ag.sum(logs)).backward()
    g = x.grad.numpy()
    np.testing.assert_allclose((g + g.conj().T) / 2, np.linalg.inv(a), rtol=1e-10)
    x = leaf(a)
    ag.sum(np.linalg.eigvalsh(x) ** 2).backward()  # the squared Frobenius norm
    g = x.grad.numpy()
    np.testing.assert_allclose((g + g.conj().T) / 2, 2 * a, rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 5, 40])
@pytest.mark.parametrize("uplo", ["L", "U", "l", "u"])
def test_values_and_signs_are_those_of_numpys_own_call(uplo, n, dtype):
    a = np.random.default_rng(n).normal(size=(2, n, n)) * (1 + (1j if dtype[0] == "c" else 0))
    a = a.astype(dtype)  # not Hermitian: it matters which triangle is read
    values, vectors = np.linalg.eigh(ag.tensor(a), uplo)
    np.testing.assert_array_equal(values.numpy(), np.linalg.eigh(a, uplo)[0])
    np.testing.assert_array_equal(vectors.numpy(), np.linalg.eigh(a, uplo)[1])
    found = np.linalg.eigh(ag.tensor(a, requires_grad=True), UPLO=uplo)
    np.testing.assert_array_equal(found.eigenvectors.detach().numpy(), np.linalg.eigh(a, uplo)[1])
    np.testing.assert_array_equal(np.linalg.eigvalsh(ag.tensor(a), uplo).numpy(), np.linalg.eigvalsh(a, uplo))


def test_a_wrong_uplo_is_refused_as_numpy_refuses_it():
    with pytest.raises(ValueError, match="UPLO must be"):
        np.linalg.eigh(ag.tensor(np.eye(2)), "X")


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_gradient_keeps_single_precision(dtype):
    for f in FUNCTIONS.values():
        x = leaf(positive(3).astype(dtype))
        f(x).sum().backward()
        assert x.grad.dtype == np.dtype(dtype)


HERMITIAN = {
    "singular values": lambda a: np.linalg.svd(a, compute_uv=False, hermitian=True),
    "svd": lambda a: np.linalg.svd(a, hermitian=True),
    "pinv": lambda a: np.linalg.pinv(a, hermitian=True),
}


@pytest.mark.parametrize("kind", ["f", "c"])
@pytest.mark.parametrize("name", HERMITIAN)
def test_what_is_said_to_be_hermitian_is_read_and_differentiated_as_one_triangle(name, kind):
    f = HERMITIAN[name]
    a = np.tril(positive(4, kind) - 5 * np.eye(4))  # eigenvalues of both signs
    found, expected = f(leaf(a)), f(a)
    for one, other in zip(*((r if name == "svd" else (r,)) for r in (found, expected)), strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other, rtol=1e-12, atol=1e-14)

    def parts(a):  # vectors are determined up to a phase
        return [size(r) for r in f(a)] if name == "svd" else [f(a)]

    assert gradcheck(parts, leaf(a))
    assert gradgradcheck(parts, leaf(a))


def test_the_rank_of_what_is_said_to_be_hermitian_is_that_of_one_triangle():
    a = np.array([[1.0, 77.0], [1.0, 1.0]])
    assert np.linalg.matrix_rank(leaf(a), hermitian=True) == np.linalg.matrix_rank(a, hermitian=True) == 1


def test_results_can_be_pickled():
    found = pickle.loads(pickle.dumps(np.linalg.eigh(leaf(positive(2)).detach(), "U")))
    np.testing.assert_array_equal(found.eigenvalues, np.linalg.eigh(positive(2), "U").eigenvalues)


LIBRARIES = ["array_api_strict", "torch", "dask", "dask in blocks", "jax"]


@pytest.mark.parametrize("name", ["cholesky", "cholesky upper", "eigvalsh", "eigh values"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gives_the_gradient_of_the_same_triangle(library, name):
    library, _, blocks = library.partition(" ")
    if library == "dask":
        module = pytest.importorskip("dask.array")
        make = (lambda a: module.from_array(a, chunks=2)) if blocks else module.from_array
    elif library == "jax":
        module = pytest.importorskip("jax")
        module.config.update("jax_enable_x64", True)
        make = module.numpy.asarray
    else:
        module = pytest.importorskip(library)
        make = module.asarray
    calls = {
        "cholesky": lambda xp, a: xp.linalg.cholesky(a),
        "cholesky upper": lambda xp, a: xp.linalg.cholesky(a, upper=True),
        "eigvalsh": lambda xp, a: xp.linalg.eigvalsh(a),
        "eigh values": lambda xp, a: xp.linalg.eigh(a)[0],
    }
    a = positive(4)
    stored = of_triangle(name, a)
    expected = leaf(stored)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (calls[name](ag.namespace("numpy"), expected) ** 2).sum().backward()
        x = ag.asarray(make(stored), requires_grad=True)
        y = calls[name](ag.namespace(library), x)
        (y**2).sum().backward()
    np.testing.assert_allclose(y.detach().numpy(), FUNCTIONS[name](ag.tensor(a)).numpy(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(x.grad.numpy(), expected.grad.numpy(), rtol=1e-10, atol=1e-12)
