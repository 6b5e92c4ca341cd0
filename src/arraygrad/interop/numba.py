"""What numba says of a Tensor that is given to a function compiled by it.

May import: core.tensor; numba. numba calls `init` by its entry point `numba_extensions` (pyproject.toml) before it
compiles the first function; without numba nothing imports this.
"""

from arraygrad.core.tensor import Tensor

__all__ = ["init"]

HINT = (
    "a function that numba compiled takes arrays, not Tensors: call it with t.numpy() where no gradient is needed; "
    "otherwise make it an operation by @arraygrad.primitive and give its derivative by defvjp, see "
    "docs/custom-functions.md"
)


def init():
    """Tell numba what to say of Tensors. Functions in object mode take them all the same."""
    from numba.core.errors import NumbaValueError
    from numba.extending import typeof_impl

    @typeof_impl.register(Tensor)
    def refuse(t, context):
        raise NumbaValueError(HINT)
