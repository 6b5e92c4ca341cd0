"""Every workload of the table of ratios, in its order. One concept per file.

May import: the files beside it.
"""

from __future__ import annotations

import importlib

from ..workload import Workload

MODULES = (
    "chain",
    "mlp",
    "lstm",
    "gaussian_process",
    "hessian_vector",
    "logistic_regression",
    "normalise",
    "softmax",
    "reductions",
    "gather",
    "slices",
    "concat",
    "fan_out",
    "deconvolution",
    "scalar_graph",
    "nbody",
    "attention",
    "convolution",
    "heat",
    "hidden_markov",
    "embedding",
    "scans",
    "options",
    "split_step",
    "plain_code",
    "matrices",
)

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for module in MODULES
    for workload in importlib.import_module(f".{module}", __name__).WORKLOADS
}
