"""The compiled layer between the table and the engine: what a Tensor is, how an operation runs and is recorded.

May import: engine, the standard library, numpy (Python only). `op` is what the table is compiled to, below `ops`.
Begin with `apply.pyx` (the path of every operation), then `nodes.pyx` (its backward) and `value.pyx` (who owns arrays).
"""
