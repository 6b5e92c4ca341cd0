"""What stands in for pickle in adopted calls: `pickle.dumps(self)` names the real functions where stand-ins are held.

May import: adoption.exchange, adoption.bindings, adoption.numpy_names, adoption.table, the standard library.

pickle writes the name of a function, and raises where that name gives another object: so it is with a stand-in, whose
name is that of the real function. The copy that is read then holds the real one, in a process without arraygrad too.
"""

import copy
import functools
import io
import pickle

from arraygrad.adoption.bindings import real_of
from arraygrad.adoption.exchange import is_on
from arraygrad.adoption.numpy_names import module_of
from arraygrad.adoption.table import stand_in

__all__ = ["install"]


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj):
        real = real_of(obj)
        return NotImplemented if real is obj else (copy.copy, (real,))  # a call that gives a function itself


@functools.wraps(pickle.dump)
def _dump(obj, file, protocol=None, *, fix_imports=True, buffer_callback=None):
    kind = _Pickler if is_on() else pickle.Pickler
    return kind(file, protocol, fix_imports=fix_imports, buffer_callback=buffer_callback).dump(obj)


@functools.wraps(pickle.dumps)
def _dumps(obj, protocol=None, *, fix_imports=True, buffer_callback=None):
    if not is_on():
        return pickle.dumps(obj, protocol, fix_imports=fix_imports, buffer_callback=buffer_callback)
    file = io.BytesIO()
    _Pickler(file, protocol, fix_imports=fix_imports, buffer_callback=buffer_callback).dump(obj)
    return file.getvalue()


def install():
    """Put what stands in for pickle and its functions into the table."""
    stand_in(pickle.dump, _dump)
    stand_in(pickle.dumps, _dumps)
    stand_in(pickle, module_of(pickle))
