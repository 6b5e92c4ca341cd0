"""Values, gradients and second derivatives of every shared function, compared with PyTorch's in double precision.

    python -m pytest tests/reference                  where torch and jax are installed; skipped as a whole where not

Every sample of tests/ops/samples and every point of `points.py`, real and complex. Where the two differ,
`differences.py` says why. Imports the public names of arraygrad.
"""

from collections import Counter

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
compat = pytest.importorskip("array_api_compat.torch", reason="array-api-compat serves no torch here")

from comparison import FUNCTIONS, check_gradients, check_refusals, check_values, results, shared
from differences import LACKING, NOT_SHARED
from peers import XP, Namespace, torchs

from arraygrad.core.tensor import Tensor

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    # torch's own: casts of complex to real in its rules, functions it will rename
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
    pytest.mark.filterwarnings("ignore::UserWarning:array_api_compat"),
]
ALL = 1000  # samples of a function
COMPARED = Counter()


def _all_axes(x, axis):
    return tuple(range(x.ndim)) if axis is None else axis


def _einsum(subscripts, *operands, optimize=True):
    dtype = compat.result_type(*operands)
    return torch.einsum(subscripts, *[x.to(dtype) for x in operands])


def _of_tensors(f):
    """A function that takes no Python numbers."""
    return lambda a, x: f(torch.as_tensor(a, dtype=x.dtype), x)


def _setitem(x, key, value):
    x = x.clone()
    x[key] = value
    return x


NAMESPACE = Namespace(
    compat,
    logsumexp=lambda x, axis=None, keepdims=False: torch.logsumexp(x, _all_axes(x, axis), keepdims),
    einsum=_einsum,
    gammaln=torch.special.gammaln,
    norm=lambda x, ord=None, axis=None, keepdims=False: torch.linalg.norm(x, ord, axis, keepdims),
    _setitem=_setitem,
    _getitem=None,  # samples spell it x[key]
    linalg=Namespace(compat.linalg),
    fft=Namespace(compat.fft),
    special=Namespace(
        torch.special,
        loggamma=torch.special.gammaln,
        j0=torch.special.bessel_j0,
        j1=torch.special.bessel_j1,
        y0=torch.special.bessel_y0,
        y1=torch.special.bessel_y1,
        k0=torch.special.modified_bessel_k0,
        k1=torch.special.modified_bessel_k1,
        k0e=torch.special.scaled_modified_bessel_k0,
        k1e=torch.special.scaled_modified_bessel_k1,
        log_expit=torch.nn.functional.logsigmoid,
        gammainc=_of_tensors(torch.special.gammainc),
        gammaincc=_of_tensors(torch.special.gammaincc),
    ),
)


SHARED = shared(NAMESPACE)


@pytest.fixture(autouse=True)
def _double():
    """Arrays that a sample makes are of double precision, as NumPy's are."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture(scope="module", autouse=True)
def _report(request):
    """Prints how many points were compared."""
    yield
    counts = ", ".join(f"{count} {what}" for what, count in sorted(COMPARED.items()))
    counts = f"{len(SHARED)} of {len(FUNCTIONS)} functions, {counts}; not compared: {', '.join(NOT_SHARED['torch'])}"
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\ncompared with torch {torch.__version__}: {counts}")


def forward(peer, case):
    if peer is None:
        return results(case.call(XP, *map(XP.asarray, case.arrays)), lambda r: isinstance(r, Tensor), Tensor.numpy)
    arrays = [torch.tensor(a) for a in case.arrays]
    output = case.call(NAMESPACE, *arrays)
    return results(output, lambda r: isinstance(r, torch.Tensor), lambda r: r.numpy(force=True))


def gradients(call, arrays, order, weights):
    return torchs(torch, NAMESPACE, call, arrays, order, weights)


def test_every_function_is_compared_but_those_that_torch_lacks():
    assert set(FUNCTIONS) - set(SHARED) == set(NOT_SHARED["torch"])


@pytest.mark.parametrize("name", SHARED)
def test_value_is_torchs(name):
    with np.errstate(all="ignore"):
        COMPARED["values"] += check_values("torch", forward, name, ALL)


@pytest.mark.parametrize("name", SHARED)
def test_gradient_is_torchs_or_differs_as_documented(name):
    agreed, differed = check_gradients("torch", gradients, name, 1, ALL)
    COMPARED["first order, agreeing"] += agreed
    COMPARED["first order, differing"] += differed


@pytest.mark.parametrize("name", SHARED)
def test_second_derivative_is_torchs_or_differs_as_documented(name):
    agreed, differed = check_gradients("torch", gradients, name, 2, ALL)
    COMPARED["second order, agreeing"] += agreed
    COMPARED["second order, differing"] += differed


@pytest.mark.parametrize("name", sorted({name for name, _ in LACKING["torch"]}))
def test_what_torch_lacks_it_still_lacks(name):
    check_refusals("torch", gradients, name)
