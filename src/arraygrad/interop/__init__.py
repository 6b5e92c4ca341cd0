"""Functions of PyTorch and JAX inside arraygrad's graph and the reverse, and arrays of one library as another's.

May import: core, engine, ops, backends, autograd; torch and jax when a function of theirs is wrapped.
Begin with `functions.py`, then `foreign.py` (a foreign call as one node).
"""

from arraygrad.interop.functions import as_jax, as_torch, from_jax, from_torch

__all__ = ["as_jax", "as_torch", "from_jax", "from_torch"]
