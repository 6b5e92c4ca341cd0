"""Names that a module imports or makes when they are first used (PEP 562): an import costs no time for the others.

May import: _hints.
"""

import importlib
import sys

from arraygrad import _hints


def first_use(namespace, names, submodules=(), made=(), make=None):
    """`__getattr__` and `__dir__` for a module.

    Parameters
    ----------
    namespace : dict
        The module's `globals()`: a name is kept there once it was used.
    names : dict of str to str
        The module in which each name is found.
    submodules : iterable of str
        Submodules that are attributes too. One that cannot be imported is a missing attribute: `hasattr`, `help` and
        `inspect` take no other error for an answer.
    made, make : collection of str, function
        `make(name)` makes the value of one of these names. Threads that ask for it at once get one value.

    Returns
    -------
    tuple of two functions
    """
    module = namespace["__name__"]

    def __getattr__(name):
        if name in names:
            value = namespace[name] = getattr(importlib.import_module(names[name]), name)
            return value
        if name in made:
            return namespace.setdefault(name, make(name))
        if name in submodules:
            try:
                return importlib.import_module(f"{module}.{name}")
            except ImportError as error:
                raise AttributeError(f"module {module!r} has no attribute {name!r}: {error}") from error
        raise _missing(module, name)

    def __dir__():
        return sorted({*namespace.get("__all__", namespace), *names, *submodules, *made})

    return __getattr__, __dir__


def hints_of(module):
    """`__getattr__` for a module whose names are all there: errors name what to write instead."""

    def __getattr__(name):
        raise _missing(module, name)

    return __getattr__


def _missing(module, name):
    text, hinted = _hints.missing(module, name)
    if hinted and _imports(sys._getframe(2)):
        # Of an AttributeError `from module import name` would keep nothing but the name.
        return ImportError(f"cannot import name {name!r} from {module!r}: {text.partition(': ')[2]}")
    # Beside a hint Python adds no names that are spelled alike.
    return AttributeError(text, name=None, obj=None) if hinted else AttributeError(text)


def _imports(frame):
    """Whether a frame is at the part of `from module import name` that takes the name."""
    import opcode  # here: only where a name is missing

    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == opcode.opmap["IMPORT_FROM"]


class MissingModules:
    """Answers `import` last, for modules that other libraries have under this name: the error says what to write.

    `importlib.util.find_spec` gets None as for any other module that is not there.
    """

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """None. See `importlib.abc.MetaPathFinder`. Raises ModuleNotFoundError in an import of a name with a hint."""
        if fullname.startswith("arraygrad.") and sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
            text = _hints.missing_module(fullname)
            if text is not None:
                raise ModuleNotFoundError(text, name=fullname)


def explain_imports():
    """Have imports of modules that arraygrad has not name what to write instead."""
    if not any(getattr(finder, "__module__", None) == __name__ for finder in sys.meta_path):
        sys.meta_path.append(MissingModules)
