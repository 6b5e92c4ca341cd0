"""Kernels written by hand for CuPy, made differentiable: each stays CuPy's, arraygrad adds its rule.

`python -m examples.gpu.NAME` checks the gradient on the device against finite differences.
"""
