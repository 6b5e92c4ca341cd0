"""Cosine and sine transforms with every combination of norm= and orthogonalize=, of real and complex input.

SciPy reads orthogonalize= for real input only: what it computes of complex input decides the gradient. The class: eight
functions x four types x norms x orthogonalize x real and complex x lengths that are cut or filled;
tests/fuzz/spellings/orthogonalized_transforms.py draws further members.
"""

import itertools

import numpy as np
import pytest
from scipy_differences import check

fft = pytest.importorskip("scipy.fft", reason="SciPy, which is optional, is not installed")

import arraygrad as ag
from arraygrad.scipy import fft as ours

NORMS = (None, "backward", "ortho", "forward")


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_every_norm_with_every_orthogonalize(name, kind):
    rng = np.random.default_rng(kind)
    several = name.endswith("n")
    for norm, orthogonalize, complex_, sized in itertools.product(NORMS, (None, True, False), (0, 1), (0, 1)):
        x = rng.normal(size=(3, 4)) + (1j * rng.normal(size=(3, 4)) if complex_ else 0.0)
        more = {"norm": norm, "orthogonalize": orthogonalize}
        if sized:
            more.update({"s": (5, 2)} if several else {"n": 3, "axis": 0})
        check(lambda x, m=more: getattr(ours, name)(x, kind, **m), lambda x, m=more: getattr(fft, name)(x, kind, **m),
              [x], rtol=1e-9, loose=1e-12)  # fmt: skip


def test_complex_input_has_the_gradient_of_what_scipy_computes():
    x = np.array([1.0 + 2.0j, -0.5j, 3.0])
    found = ag.jacobian(lambda x: ours.dct(x, norm="ortho", orthogonalize=False))(x)
    np.testing.assert_allclose(found, fft.dct(np.eye(3), norm="ortho", axis=0), atol=1e-15)
