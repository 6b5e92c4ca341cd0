"""Values, gradients and second derivatives of every shared function, compared with JAX's in double precision.

    python -m pytest tests/reference                  where torch and jax are installed; skipped as a whole where not

Samples of tests/ops/samples, evenly spread (JAX compiles each operation for each shape: all this takes minutes), and
every point of `points.py`, real and complex. Where the two differ, `differences.py` says why. Imports the public names
of arraygrad.
"""

from collections import Counter

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed: nothing to compare with")

jnp = pytest.importorskip("jax.numpy")
special = pytest.importorskip("jax.scipy.special")

from comparison import FUNCTIONS, check_gradients, check_refusals, check_values, results, shared
from differences import LACKING, NOT_SHARED
from peers import XP, Namespace, jaxs

from arraygrad.core.tensor import Tensor

pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning"), pytest.mark.timeout(300)]

SOME = 16  # samples of a function at first order
FEW = 4  # at second order
COMPARED = Counter()

NAMESPACE = Namespace(
    jnp,
    logsumexp=special.logsumexp,
    softmax=jax.nn.softmax,
    log_softmax=jax.nn.log_softmax,
    sigmoid=jax.nn.sigmoid,
    relu=jax.nn.relu,
    norm=jnp.linalg.norm,
    erf=special.erf,
    gammaln=special.gammaln,
    _setitem=lambda x, key, value: x.at[key].set(value),
    _getitem=None,  # samples spell it x[key]
    linalg=Namespace(jnp.linalg),
    fft=Namespace(jnp.fft),
    special=Namespace(special, sinc=jnp.sinc, log_expit=jax.nn.log_sigmoid),
)
SHARED = shared(NAMESPACE)


@pytest.fixture(scope="module", autouse=True)
def _double():
    """JAX computes in single precision unless told otherwise."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module", autouse=True)
def _report(request):
    """Prints how many points were compared."""
    yield
    counts = ", ".join(f"{count} {what}" for what, count in sorted(COMPARED.items()))
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(
            f"\ncompared with jax {jax.__version__}: {len(SHARED)} of {len(FUNCTIONS)} functions, {counts}; "
            f"not compared: {', '.join(NOT_SHARED['jax'])}"
        )


def forward(peer, case):
    if peer is None:
        return results(case.call(XP, *map(XP.asarray, case.arrays)), lambda r: isinstance(r, Tensor), Tensor.numpy)
    output = case.call(NAMESPACE, *map(jnp.asarray, case.arrays))
    return results(output, lambda r: isinstance(r, jax.Array), np.asarray)


def gradients(call, arrays, order, weights):
    return jaxs(jax, NAMESPACE, call, arrays, order, weights)


def test_every_function_is_compared_but_those_that_jax_lacks():
    assert set(FUNCTIONS) - set(SHARED) == set(NOT_SHARED["jax"])


@pytest.mark.parametrize("name", SHARED)
def test_value_is_jaxs(name):
    with np.errstate(all="ignore"):
        COMPARED["values"] += check_values("jax", forward, name, SOME)


@pytest.mark.parametrize("name", SHARED)
def test_gradient_is_jaxs_or_differs_as_documented(name):
    agreed, differed = check_gradients("jax", gradients, name, 1, SOME)
    COMPARED["first order, agreeing"] += agreed
    COMPARED["first order, differing"] += differed


@pytest.mark.parametrize("name", SHARED)
def test_second_derivative_is_jaxs_or_differs_as_documented(name):
    agreed, differed = check_gradients("jax", gradients, name, 2, FEW)
    COMPARED["second order, agreeing"] += agreed
    COMPARED["second order, differing"] += differed


@pytest.mark.parametrize("name", sorted({name for name, _ in LACKING["jax"]}))
def test_what_jax_lacks_it_still_lacks(name):
    check_refusals("jax", gradients, name)
