"""What NumPy calls on Tensors: methods, the protocols for ufuncs and functions, and NumPy's own functions.

May import: core, ops, backends, namespaces. One module for each chapter of NumPy's manual.
Begin with `handlers.py` (how a call of NumPy's finds its function) and `functions.py` (how a function is registered).
"""
