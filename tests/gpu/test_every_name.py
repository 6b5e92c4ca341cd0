"""Every public name of CuPy's and of cupyx's, called on Tensors, adopted and not.

Each call that works on plain arrays has the value and the gradient of these, or is refused in words of arraygrad's: no
error is in Python's or CuPy's own words alone, and no gradient is dropped.
"""

import importlib
import types

import pytest
from every_call import CALLS, outcome

pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

# Modules, the least number of their names that are called, and of those whose gradient is right in adopted calls.
MODULES = {
    "cupy": (300, 250),
    "cupy.linalg": (20, 18),
    "cupy.fft": (16, 16),
    "cupy.random": (40, 0),
    "cupyx": (5, 4),
    "cupyx.scipy.fft": (30, 28),
    "cupyx.scipy.interpolate": (9, 1),
    "cupyx.scipy.linalg": (15, 10),
    "cupyx.scipy.ndimage": (50, 40),
    "cupyx.scipy.signal": (90, 60),
    "cupyx.scipy.signal.windows": (20, 0),
    "cupyx.scipy.sparse": (20, 10),
    "cupyx.scipy.sparse.linalg": (9, 6),
    "cupyx.scipy.spatial": (0, 0),
    "cupyx.scipy.spatial.distance": (0, 0),
    "cupyx.scipy.special": (90, 80),
    "cupyx.scipy.stats": (4, 4),
}
# Names that print, read or write files, change settings of the process, or show memory that nobody has written.
LEFT_OUT = frozenset(
    """
    clear_memo disp fuse genfromtxt get_printoptions load loadtxt memoize printoptions save savetxt savez
    savez_compressed set_printoptions set_string_function show_config who
    empty empty_like empty_pinned empty_like_pinned ndarray
    """.split()
)
# Whose results CuPy leaves open for some of these arguments (unsorted ones, several values for one place, distances
# from elements that are not there), and what writes over its arguments in CuPy, where a Tensor gives a copy.
OPEN = frozenset(
    """
    interp intersect1d put_along_axis scatter_max scatter_min distance_transform_edt entropy chirp sweep_poly
    """.split()
)
# Calls of each name that are looked at.
LOOKED_AT = 4


def called(cupy, module, name, adopt):
    """The outcomes of the first calls of a name that work on plain arrays."""
    found = []
    for call in CALLS:
        kind = outcome(cupy, module, name, call, adopt)
        found += [] if kind is None else [kind]
        if len(found) == LOOKED_AT:
            break
    return found


@pytest.mark.parametrize("adopt", [True, False])
@pytest.mark.parametrize("module", MODULES)
def test_values_and_gradients_are_right_or_refused_in_words(cupy, module, adopt):
    if not hasattr(cupy, "get_array_module"):
        pytest.skip("the stand-in has few of CuPy's names")
    owner, found = importlib.import_module(module), {}
    for name in dir(owner):
        value = getattr(owner, name)
        if name.startswith("_") or name in LEFT_OUT or isinstance(value, types.ModuleType) or not callable(value):
            continue
        if isinstance(value, type) and issubclass(value, BaseException):
            continue
        found[name] = called(cupy, module, name, adopt)
    wrong = {
        name: others
        for name, kinds in found.items()
        if (others := [kind for kind in kinds if kind not in ("right", "kink", "refused")])
        and not (name in OPEN and all(text.startswith("value") for text in others))
    }
    assert wrong == {}
    least_called, least_right = MODULES[module]
    assert sum(map(bool, found.values())) >= least_called
    if adopt:
        assert sum("right" in kinds for kinds in found.values()) >= least_right
