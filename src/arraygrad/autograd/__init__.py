"""The engine's interface, with PyTorch's names: backward, grad, Function, graph, hooks, anomaly mode, checkpointing.

May import: engine, core. Begin with `functions.py` (backward and grad), then `custom_function.py` and `graph.py`.
"""

from arraygrad.autograd import graph
from arraygrad.autograd.anomaly import detect_anomaly, set_detect_anomaly
from arraygrad.autograd.custom_function import Function, once_differentiable
from arraygrad.autograd.functions import backward, grad, set_cpu_workers, set_deterministic
from arraygrad.autograd.grad_mode import set_multithreading_enabled
from arraygrad.autograd.graph import GradientEdge
from arraygrad.engine.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from arraygrad.engine.engine import is_checkpoint_valid, is_multithreading_enabled

__all__ = [
    "Function",
    "GradientEdge",
    "backward",
    "detect_anomaly",
    "grad",
    "graph",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_checkpoint_valid",
    "is_multithreading_enabled",
    "once_differentiable",
    "set_cpu_workers",
    "set_detect_anomaly",
    "set_deterministic",
    "set_multithreading_enabled",
]
