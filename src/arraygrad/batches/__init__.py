"""Operations on many arrays of one shape at once: each operation's batch rule, derived from its entry.

`values.py`: what stands for several arrays, Note [Batches]. `derive.py`: from an operation's structure to one call with
an axis of rows in front; `keys.py`: the same of indexing. `namespace.py`: the namespace that rules and functions get.
`rules.py`: gradients of many rows, and their plans.
May import: core, ops, backends. Used by transforms (rows of Jacobians) and
implicit (right sides at many points).
"""
