"""A namespace in which every new floating array requires grad, so that the whole suite runs on recorded operations.

May import: arraygrad, nothing of this package.

A new array is a copy of a leaf, not the leaf itself: the suite writes into the arrays it makes, which the engine
refuses on a leaf, as torch does, and records on a copy. So even writes are recorded, and every result has a grad_fn.
"""

from __future__ import annotations

import functools
import types

import arraygrad

CREATION = (
    "asarray", "arange", "linspace", "empty", "zeros", "ones", "full", "eye", "empty_like", "zeros_like", "ones_like",
    "full_like", "from_dlpack",
)  # fmt: skip
"""The standard's creation functions that make their arrays anew: the others (meshgrid, tril, triu) are operations."""

CREATION_FFT = ("fftfreq", "rfftfreq")


def recording_namespace(library: str) -> types.ModuleType:
    """A module like `arraygrad.namespace(library)`, but whose new floating arrays require grad."""
    public = arraygrad.namespace(library)
    module = _copy_of(public, CREATION, public)
    if hasattr(public, "fft"):
        module.fft = _copy_of(public.fft, CREATION_FFT, public)
    return module


def _copy_of(module: types.ModuleType, creation: tuple[str, ...], public: types.ModuleType) -> types.ModuleType:
    copy = types.ModuleType(module.__name__, module.__doc__)
    copy.__dict__.update({name: getattr(module, name) for name in module.__all__})
    for name in creation:
        setattr(copy, name, _requiring_grad(getattr(module, name), public))
    return copy


def _requiring_grad(function, public):
    @functools.wraps(function)
    def create(*args, **kwargs):
        if function.__name__ == "from_dlpack" and isinstance(args[0], arraygrad.Tensor):
            # Its export is refused, because the receiver could not know of the graph.
            args = (args[0].detach(), *args[1:])
        new = function(*args, **kwargs)
        given = args and new is args[0]
        if given or new.requires_grad or not public.isdtype(new.dtype, ("real floating", "complex floating")):
            return new
        return new.requires_grad_().copy()

    return create
