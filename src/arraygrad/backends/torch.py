"""Backend of torch.Tensor: PyTorch's arrays without PyTorch's own graph.

May import: backends.generic, backends.numpy.contents, backends.repaired, backends.cuda.streams, torch,
array-api-compat.

PyTorch would record operations on tensors that require grad, and arraygrad records them too: two graphs, neither of
which knows of the other. So a torch tensor that requires grad is refused, as an array and as an operand. Nothing else
can start PyTorch's recording, hence its grad mode is left alone. `arraygrad.interop` joins the two on purpose.
"""

import warnings

import array_api_compat.torch
import torch

from arraygrad.backends import attach
from arraygrad.backends.cuda.streams import TorchRuntime
from arraygrad.backends.generic import GenericBackend
from arraygrad.backends.numpy.contents import fingerprint_of
from arraygrad.backends.repaired import RepairedNamespace
from arraygrad.engine.arrayops import InvalidGradient

__all__ = ["TorchBackend", "raw_namespace", "register"]

_REFUSED = (
    "a torch tensor that requires grad can't be used here: PyTorch would record a graph of its own that arraygrad does "
    "not see. Give t.detach() (and requires_grad=True to arraygrad.asarray), or join the two by "
    "arraygrad.interop.from_torch(f) or as_torch(f)"
)


class TorchBackend(GenericBackend):
    """torch.Tensor: written in place, slices are views, one worker thread per CUDA device."""

    def meta(self, array):
        """GradMeta of a tensor; TypeError for one that requires grad in PyTorch's sense."""
        if array.requires_grad:
            raise TypeError(_REFUSED)
        return super().meta(array)

    def matches(self, meta, grad):
        """Whether `grad` has the shape, dtype and device of `meta`, and no graph of PyTorch's behind it."""
        return (
            isinstance(grad, torch.Tensor)
            and grad.dtype is meta.dtype
            and not grad.requires_grad
            and tuple(grad.shape) == meta.shape
            and grad.device == meta.device
        )

    def conform(self, meta, grad, realify):
        """As for any library; InvalidGradient for a gradient that requires grad in PyTorch's sense."""
        if isinstance(grad, torch.Tensor) and grad.requires_grad:
            raise InvalidGradient(_REFUSED)
        return super().conform(meta, grad, realify)

    def device_of(self, array):
        """torch.device of a tensor."""
        return array.device

    def device_key(self, device):
        """None for the CPU, ("torch", "cuda", number) and the like for others."""
        if device is None:
            return None
        device = torch.device(device)
        if device.type == "cpu":
            return None
        return ("torch", device.type) if device.index is None else ("torch", device.type, device.index)

    def clone(self, array, like):
        """A copy with its own memory; keeps the order of the axes in memory."""
        return array.clone()

    def memory(self, array):
        """Extent of the elements, None for tensors without an address (meta, sparse)."""
        if array.device.type == "meta" or array.layout is not torch.strided:
            return None
        return super().memory(array)

    def content_token(self, raw):
        """What the elements contain, where NumPy can look at them; elsewhere PyTorch's own count of writes."""
        if raw.device.type == "cpu" and raw.layout is torch.strided:
            try:
                return fingerprint_of(raw.detach().numpy())
            except (TypeError, RuntimeError):  # a dtype that NumPy lacks, or a view that computes
                pass
        return raw._version

    def owner(self, raw):
        """The address of the storage, 0 where there is none."""
        return 0 if self.memory(raw) is None else raw.untyped_storage().data_ptr()

    def overlaps_itself(self, raw):
        """Whether an axis repeats its elements."""
        return any(n > 1 and step == 0 for n, step in zip(raw.shape, raw.stride(), strict=True))

    def asarray(self, obj, dtype, device):
        """A tensor from scalars, lists, a tensor, or what torch itself converts."""
        if isinstance(obj, torch.Tensor) and obj.requires_grad:
            raise TypeError(_REFUSED)
        return super().asarray(obj, dtype, device)


class _Info:
    """array-api-compat's namespace info without its warnings about devices that PyTorch gave up."""

    def __init__(self, info):
        self._info = info

    def __getattr__(self, name):
        return getattr(self._info, name)

    def devices(self):
        """All devices that PyTorch can make arrays on."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._info.devices()


_raw = RepairedNamespace(
    array_api_compat.torch,
    {
        "__array_namespace_info__": lambda: _Info(array_api_compat.torch.__array_namespace_info__()),
        "_library_eigh_upper": lambda x: torch.linalg.eigh(x, UPLO="U"),
        "_library_eigvalsh_upper": lambda x: torch.linalg.eigvalsh(x, UPLO="U"),
    },
)

BACKEND = TorchBackend("torch", _raw, torch.Tensor, True, TorchRuntime(torch.cuda))
attach(BACKEND, "torch", torch.Tensor)


def raw_namespace():
    """array-api-compat's namespace over torch."""
    return _raw


def register(obj):
    """The backend of torch tensors and parameters; subclasses with operations of their own are refused."""
    cls = type(obj)
    if cls is torch.Tensor or cls is torch.nn.Parameter:
        return BACKEND
    raise TypeError(
        f"{cls.__module__}.{cls.__qualname__} is a subclass of torch.Tensor whose operations arraygrad does not know; "
        "give its plain tensor, as by t.as_subclass(torch.Tensor)"
    )
