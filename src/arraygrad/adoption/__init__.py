"""Adoption: while a program is differentiated, its NumPy makes recordable arrays and its numbers stay recorded.

May import: core, ops, namespaces, numpy_api, autograd, special. Begin with `setting.py` (who adopts), `calls.py` (what
adopting is), then `reach.py` (which code it reaches) and the two files of stand-ins, `numpy_names.py` and
`number_names.py`. Nothing is imported here: `setting.py` is needed by every process, the rest by those that adopt.

Note [Files of adoption]
~~~~~~~~~~~~~~~~~~~~~~~~
An adopted call answers four questions, and each has its files.
(1) What stands in for what? `table.py` holds the pairs (real thing, stand-in) that are known from the start; the files
    `*_names.py` fill it. `stand_ins.py` finds the pair of any value: one of the table, or one that is made of it.
(2) Where are the real things held? `reach.py` finds the namespaces and objects that a function leads to, and
    `namespaces.py` the places in one namespace. A place that is not simply a global is a Patch (`bindings.pyx`).
    `exchange.pyx` puts stand-ins there for the call and takes them back: Note [The lock of adoption].
(3) May a stand-in be put there? Code that compares a thing by `is` needs the real one: `identity_comparisons.py`. The
    refusal of a gradient that is lost by it says where the comparison stands: `why_real.py`. Whether names are still
    bound to what was found is asked at each call, by a Watch (`bindings.pyx`, Note [What is bound anew]).
(4) What does a Tensor answer? Questions that are asked by a name (`isinstance`, `type`, `float`) have stand-ins, whose
    answers stand in `builtin_answers.pyx`. Questions that no name holds (`x.__class__`, `case float():`, `str(x)`)
    reach the Tensor itself, and `tensor_answers.py` answers: Note [Questions of the program] in core/adopted.pyx.
Guarded by tests/adoption.
"""
