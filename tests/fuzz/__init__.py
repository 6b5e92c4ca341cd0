"""Random programs, executed by arraygrad and by references that know nothing of it. `python -m tests.fuzz --help`.

`program` is what a program is, `catalogue` what it may do, `generate` how one is made, `machines` (and `torch_machine`)
who executes it, `check` and `ways` what is compared, `shrink` how a failing one becomes small.
Imports of arraygrad: the public face only, in `machines`, `gradients`, `check` and `ways`.
"""
