"""docs/numpy-coverage.md says what is true: what it calls recorded is checked against central differences here.

Imports arraygrad.tools.generate_coverage, and reads the tests beside it.
"""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.tools.generate_coverage import coverage, coverage_page

HERE = Path(__file__).parent
TABLES = ("test_numpy_functions.py", "test_ufunc_calls.py", "test_numpy_shapes.py")
DEPRECATED = {"row_stack"}  # warns when it is called; is vstack
STATUSES = {"recorded", "constant", "adopted", "writes", "no array", "refused"}


def rows():
    return [(module, name, status) for module, found in coverage().items() for name, status, _ in found]


def differentiated():
    """Names of numpy's functions, dotted, in the tables of calls that are held to central differences."""
    texts = [(HERE / table).read_text() for table in TABLES]
    tables = [re.search(r'DIFFERENTIABLE = """(.*?)"""', text, re.DOTALL).group(1) for text in texts]
    return set(re.findall(r"np\.((?:linalg\.|fft\.)?\w+)", " ".join(tables)))


def test_every_function_called_recorded_has_its_derivative_checked():
    checked = {getattr_dotted(name) for name in differentiated()}
    missing = [
        f"{module}.{name}"
        for module, name, status in rows()
        if status == "recorded"
        and name not in DEPRECATED
        and getattr_dotted(f"{module}.{name}".removeprefix("numpy.")) not in checked
    ]
    assert not missing


def getattr_dotted(name):
    found = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def test_every_row_has_a_known_status():
    assert {status for _, _, status in rows()} <= STATUSES


def test_functions_of_numpys_three_modules_are_all_named():
    page = coverage_page("")
    for name in ("sin", "vecdot", "nanquantile", "solve", "irfft2", "zeros", "select", "heaviside"):
        assert f"| `{name}` |" in page


def test_page_of_another_numpy_is_left_as_it_is():
    old = "for every public function and ufunc of NumPy 1.99 (`numpy`"
    assert coverage_page(old) == old


# np.trapz is gone in NumPy 2.4, which is what the page is of; where it exists it is differentiated, like trapezoid.
GIVEN = {"trapz"} if hasattr(np, "trapz") else set()


@pytest.mark.parametrize("name", [name for _, name, status in rows() if status == "refused" and name not in GIVEN])
def test_refused_function_never_drops_a_gradient(name):
    function = getattr(np, name)
    t = ag.tensor([1.0, 2.0], requires_grad=True)
    call = {
        "bmat": lambda: np.bmat([[t]]),
        "save": lambda: np.save("unused", t),
        "savetxt": lambda: np.savetxt("unused", t),
        "savez": lambda: np.savez("unused", t),
        "savez_compressed": lambda: np.savez_compressed("unused", t),
    }.get(name, lambda: function(t))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((TypeError, ValueError, OSError, AttributeError)):
            call()
