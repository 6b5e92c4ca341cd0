"""What stands for CuPy's raw namespace where CuPy is not installed: names and dtypes, so that everything can be read.

May import: numpy, whose dtypes CuPy uses.

`import arraygrad.cupy` then works and has every function with its signature and documentation; calling one raises the
ImportError that says what to install.
"""

import types

import numpy

__all__ = ["AbsentLibrary"]

# What needs no array of the library.
_ABOUT_DTYPES = ("isdtype", "can_cast", "result_type", "finfo", "iinfo")


class AbsentLibrary(types.ModuleType):
    """AbsentLibrary(name, error): a namespace whose functions raise `error`, an ImportError, when they are called."""

    def __init__(self, name, error, dtypes):
        super().__init__(name, f"{name}, which is not installed.")
        self.__dict__["_error"] = error
        self.__dict__.update({dtype: getattr(numpy, dtype) for dtype in dtypes})
        self.__dict__.update({function: getattr(numpy, function) for function in _ABOUT_DTYPES})

    def __getattr__(self, name):
        if name == "__array_namespace_info__":
            return lambda: self
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        error = self._error

        def function(*args, **kwargs):
            raise ImportError(str(error), name=error.name)

        function.__name__ = function.__qualname__ = name
        return function
