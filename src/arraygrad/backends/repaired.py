"""A library's raw namespace with some functions of our own in place of its own or of missing ones.

May import: the standard library only.
"""

import types

__all__ = ["RepairedNamespace"]


class RepairedNamespace(types.ModuleType):
    """RepairedNamespace(raw, own, **extensions): the functions `own` (dict name -> function), else those of `raw`.

    `extensions` maps "linalg" or "fft" to a dict of functions for that part. The name stays that of `raw`.
    """

    def __init__(self, raw, own, **extensions):
        super().__init__(raw.__name__, raw.__doc__)
        self.__dict__["_raw"] = raw
        self.__dict__.update(own)
        for name, functions in extensions.items():
            self.__dict__[name] = RepairedNamespace(getattr(raw, name), functions)

    def __getattr__(self, name):
        value = getattr(self.__dict__["_raw"], name)
        if not name.startswith("__"):
            self.__dict__[name] = value
        return value

    def __dir__(self):
        return sorted({*dir(self._raw), *self.__dict__})
