"""scipy.sparse: sparse matrices whose values gradients reach, and their products with Tensors.

May import: scipy._declare and this folder, SciPy. SciPy's own matrices convert whatever they are multiplied with and
refuse a Tensor; those made here (`csr_array`, ...) take one. With a Tensor of values they are a `Matrix`.
"""

from scipy import sparse as _sparse

from arraygrad.scipy._declare import mirror as _mirror
from arraygrad.scipy.sparse import _constants, csgraph, linalg
from arraygrad.scipy.sparse._cells import Cells, Keyed
from arraygrad.scipy.sparse._matrix import Matrix, scipy_class
from arraygrad.scipy.sparse._matrix_base import NAMES

globals().update(NAMES)

# Class of ours -> a function of its object: the class of SciPy's that type(x) and isinstance find in adopted calls.
KINDS = dict.fromkeys((Matrix, Cells, Keyed, *_constants.CLASSES.values()), scipy_class)

# Functions of graphs, which stand in for SciPy's in adopted calls.
OBJECTS = {f"csgraph.{name}": function for name, function in csgraph.FUNCTIONS.items()}

__all__ = ["Matrix", "csgraph", "linalg"]

__getattr__, __dir__ = _mirror(globals(), _sparse)
