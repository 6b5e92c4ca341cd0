"""Settings that hold in a block of code.

May import: engine.switch.

Note [Modes and interrupts]
~~~~~~~~~~~~~~~~~~~~~~~~~~~
Python runs signal handlers at the start of a function, after a call, and where a loop goes round. If Ctrl-C arrives
after __enter__ has switched and before `with` knows of it, the mode holds for ever: a program whose loop was stopped at
`with no_grad()` records nothing any more. So every mode whose loss would change gradients is a Mode. Its switch is
compiled or Python's own, so no handler runs within. It is called by the store to `on`, after which Python runs no
handler, nor does it at a function's return; from there on `with` calls __exit__, which is compiled. (A compiled
__enter__ would do up to Python 3.13 only: from 3.14 on `with` runs handlers after a compiled one.)
Guarded by tests/engine/test_modes.py.
"""

from arraygrad.engine.switch import Switch


class Mode(Switch):
    """A context manager in whose block a setting holds, see Switch. It may be entered several times, nested too."""

    __slots__ = ()

    def __enter__(self):
        self.on = True
        return self
