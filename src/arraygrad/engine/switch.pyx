# What a mode sets and restores.
# May import: nothing of arraygrad.


cdef class Switch:
    """Switch(switch, value, restore=None, now=False, paired=True)
--

    A setting, made by `switch(value)`, which returns what `restore` (without one `switch`) takes to undo it.

    `on = True` makes it, several times over too, and __exit__ undoes the last that was made. With `now` it is made by
    the construction, and the first block undoes that, or `undo()`. Without `paired` nothing is kept between the two:
    each __exit__ calls `restore(None)`.
    """
    cdef readonly object switch
    cdef readonly object value
    cdef readonly object restore
    cdef object previous                # linked pairs (what restore takes, pairs before), one for each time it was made
    cdef object first                   # what restore takes to undo the construction, while `early`
    cdef bint early
    cdef bint paired

    def __init__(self, switch, value, restore=None, bint now=False, bint paired=True):
        self.switch = switch
        self.value = value
        self.restore = switch if restore is None else restore
        self.previous = None
        self.paired = paired
        if now:
            self.first = switch(value)
            self.early = True

    @property
    def on(self):
        """Whether it was made, and not undone."""
        return self.early or self.previous is not None

    @on.setter
    def on(self, bint on):
        if not on:
            raise ValueError("a setting is undone by __exit__")
        before = self.switch(self.value)
        if self.early:
            before, self.first, self.early = self.first, None, False
        if self.paired:
            self.previous = (before, self.previous)

    def __exit__(self, *exc):
        if self.previous is not None:
            before, self.previous = <tuple>self.previous
            self.restore(before)
        elif self.early:
            self.undo()
        elif self.paired:
            raise RuntimeError(f"{type(self).__name__}: a block was left that was not entered")
        else:
            self.restore(None)

    def undo(self):
        """Undo what the construction with `now` did, if nothing else did it yet."""
        if self.early:
            self.early = False
            first, self.first = self.first, None
            self.restore(first)
