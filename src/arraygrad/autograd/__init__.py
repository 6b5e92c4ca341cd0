"""The engine's interface, with PyTorch's names: backward, grad, Function, graph, hooks, anomaly mode, checkpointing.

May import: engine, core. Begin with `functions.py` (backward and grad), then `custom_function.py` and `graph.py`.
"""

import importlib

from arraygrad.autograd import graph
from arraygrad.autograd.functions import backward, grad, set_cpu_workers, set_deterministic
from arraygrad.autograd.grad_mode import set_multithreading_enabled
from arraygrad.autograd.graph import GradientEdge
from arraygrad.engine.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from arraygrad.engine.engine import is_checkpoint_valid, is_multithreading_enabled

__all__ = [
    "GradientEdge",
    "backward",
    "grad",
    "graph",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_checkpoint_valid",
    "is_multithreading_enabled",
    "set_cpu_workers",
    "set_deterministic",
    "set_multithreading_enabled",
]

# Imported on first use, as in arraygrad/__init__.py.
_LATER = {
    "Function": "custom_function",
    "detect_anomaly": "anomaly",
    "once_differentiable": "custom_function",
    "set_detect_anomaly": "anomaly",
}
__all__.extend(_LATER)
__all__.sort()


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"arraygrad.autograd.{_LATER[name]}"), name)
    return value


def __dir__():
    return sorted({*globals(), *_LATER})
