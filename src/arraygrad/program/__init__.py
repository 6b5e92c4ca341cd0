"""Rules of the table as small programs: traced once, replayed, transposed.

`form.pyx`: what a program is, how it is replayed, and which one serves a call. `values.py`: what stands for arrays
while one is traced, Note [Small programs]; `namespace.py`: the functions that rules find there; `calls.py`: one of
them. `rules.py`: one rule with what the engine does behind it. `forward.py`: derivatives along tangents, out of the
rules by transposition.
May import: core, ops, backends. `batches` stands on it: what operations do to rows of arrays.
"""
