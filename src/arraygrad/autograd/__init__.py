"""The engine's interface, with PyTorch's names: backward, grad, Function, graph, hooks, anomaly mode, checkpointing.

May import: engine, core. Begin with `functions.py` (backward and grad), then `custom_function.py` and `graph.py`.
"""

from arraygrad._first_use import first_use
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

_ON_FIRST_USE = {
    "Function": "arraygrad.autograd.custom_function",
    "add_scaled": "arraygrad.autograd.updates",
    "detect_anomaly": "arraygrad.autograd.anomaly",
    "once_differentiable": "arraygrad.autograd.custom_function",
    "set_detect_anomaly": "arraygrad.autograd.anomaly",
}
__all__.extend(_ON_FIRST_USE)
__all__.sort()
__getattr__, __dir__ = first_use(globals(), _ON_FIRST_USE)
