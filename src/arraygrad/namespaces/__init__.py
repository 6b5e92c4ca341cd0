"""Public functions out of the table, and the Array-API namespaces that are made of them.

May import: core, ops, backends. `arraygrad.numpy`, `arraygrad.cupy` and their like call it in two or three lines each.
Begin with `bind.py` (a function from an entry), then `namespace.py` (a namespace from functions).
"""
