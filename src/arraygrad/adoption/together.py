"""Modules of a program that belong together: one makes the arrays that another one writes into.

May import: the standard library.

A class keeps its parameters, `self.w = rng.normal(size=n)`, and an optimiser in another module writes into them,
`layer.w -= rate * layer.grad`. So names that are written are looked for in all modules of a package, or of a folder
whose files are modules of their own, that name each other's functions, classes or modules. Modules of a library that is
installed as a single file, and large packages, are looked at each by itself.
"""

import os
import sys
import types

__all__ = ["together"]

_LARGEST = 64  # modules


def together(namespace):
    """The namespaces of the modules that belong together with that of `namespace`, which stands first."""
    home = _home(namespace)
    module = sys.modules.get(namespace.get("__name__"))
    if home is None or module is None or vars(module) is not namespace:
        return [namespace]
    members = {}
    for module in list(sys.modules.values()):
        if type(module) is types.ModuleType and _home(vars(module)) == home:
            members[module.__name__] = vars(module)
    if len(members) > _LARGEST:
        return [namespace]
    named = {name: _named(one, members) - {name} for name, one in members.items()}
    found, waiting = [], [namespace["__name__"]]
    while waiting:
        name = waiting.pop()
        if name not in found and name in members:
            found.append(name)
            waiting += [*named[name], *[other for other, those in named.items() if name in those]]
    return [members[name] for name in found] or [namespace]


def _home(namespace):
    """The package that a module is in, or its folder; None of a module of a library, or without a file."""
    name, file = namespace.get("__name__"), namespace.get("__file__")
    if type(name) is not str or type(file) is not str:
        return None
    if "." in name or "__path__" in namespace:
        return name.partition(".")[0]
    folder = os.path.dirname(file)
    return None if os.path.basename(folder) in ("site-packages", "dist-packages") or folder == _OF_PYTHON else (folder,)


_OF_PYTHON = os.path.dirname(os.__file__)


def _named(namespace, members):
    """Which of the members a namespace names, by a module or by what is defined there."""
    found = set()
    for value in list(namespace.values()):
        if isinstance(value, types.ModuleType):
            found.add(value.__name__)
        elif isinstance(value, type | types.FunctionType):
            found.add(value.__module__)
    return found & members.keys()
