"""One function in all the spellings that a caller may choose: generated calls, held to the plain call.

`spelling` says what a generated call is and how it is held to its reference. Every other module here generates one
class of calls: its docstring says which class, and its `draw(rng)` makes one member at random.
`python -m tests.fuzz.spellings --minutes 10 --seed 1` draws from all of them, `--only axes_of_numpy` from one;
`test_spellings.py` draws a fixed part of each for every run of the tests.
Imports of arraygrad: the public face only.
"""
