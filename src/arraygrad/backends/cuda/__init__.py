"""What CUDA devices need, of whatever library: streams, kernels made of the table, kernels for rows, copies aside.

May import: engine, core, ops, numpy; CuPy is handed in as a module. `backends.cupy` uses all of it, `backends.torch`
the streams. Begin with `fusion.py` (a rule as C++) and `streams.py`.
"""
