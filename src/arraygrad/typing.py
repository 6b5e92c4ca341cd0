"""Names for annotations: what counts as an array, and what functions of arraygrad take.

May import: core.tensor, the standard library. The stubs use these; programs may, too:

    from arraygrad.typing import Array

    def loss(w: Array, x: Array) -> Array: ...
"""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from arraygrad.core.tensor import Tensor

__all__ = ["Array", "ArrayLike"]


class Array(Protocol):
    """An array of any library, or a Tensor: it has a shape and a dtype."""

    @property
    def shape(self) -> Any:
        """Tuple of the lengths of the axes."""

    @property
    def dtype(self) -> Any:
        """The library's own dtype object."""


ArrayLike: TypeAlias = Tensor | Array | bool | int | float | complex | Sequence[Any]
"""What functions of arraygrad take for an array: Tensors, arrays, numbers, and nested lists of them."""
