"""Operations on many arrays of one shape at once: each operation's batch rule, derived from its entry.

`derive.py`: from an operation's structure to one call with an axis of rows in front; `keys.py`: the same of indexing.
`rules.py`: gradients of many rows. Programs, and what stands for several arrays: `program`, Note [Small programs].
May import: core, ops, backends, program. Used by transforms (rows of Jacobians) and implicit (right sides at many
points).
"""
