"""Adoption: while a program is differentiated, its NumPy makes recordable arrays and its numbers stay recorded.

May import: core, ops, namespaces, numpy_api, autograd, special. Begin with `setting.py` (who adopts), `calls.py` (what
adopting is), then `reach.py` (which code it reaches) and the two files of stand-ins, `numpy_names.py` and
`number_names.py`. Nothing is imported here: `setting.py` is needed by every process, the rest by those that adopt.
"""
