"""Which line of the user's own code did something: called what is not supported, recorded a node, lost a gradient.

May import: arraygrad.autograd, core.convert, engine.node, the standard library.
"""

from __future__ import annotations

import bisect
import dis
import linecache
import sys
import sysconfig
from pathlib import Path

from arraygrad.autograd.grad_mode import no_grad
from arraygrad.autograd.python_numbers import stop_gradient
from arraygrad.core.convert import set_conversion_notice
from arraygrad.engine.node import PyNode, is_grad_enabled

__all__ = ["Lines", "Own", "nodes_behind", "own_line", "shown"]

_FOLDERS = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_LIBRARIES = tuple({str(Path(__file__).parents[1]), *_FOLDERS})


_NAMED = ("detach", "array")
_LOAD_ATTR = dis.opmap["LOAD_ATTR"]


class Own:
    """Tells the user's files from those of libraries.

    Parameters
    ----------
    module_file : str or None
        File of the checked function. The folder of its package counts as the user's wherever it is installed.
    package : str
        Dotted name of the function's module.
    """

    def __init__(self, module_file, package):
        self._known = {}
        if module_file is None:
            self._root = None
            return
        path = Path(module_file)
        for _ in range(package.count(".")):
            path = path.parent
        # A module that is installed alone stands beside all others: only the file itself is the user's then.
        self._root = str(path.parent) + "/" if "." in package else module_file

    def __call__(self, filename):
        found = self._known.get(filename)
        if found is None:
            found = (self._root is not None and filename.startswith(self._root)) or not (
                filename.startswith((*_LIBRARIES, "<"))
                or "/site-packages/" in filename
                or filename.endswith(".pyx")  # frames of compiled code, ours among them
            )
            self._known[filename] = found
        return found


class Lines:
    """While it is entered, notes which line of the user's code runs when, and where values leave the graph.

    Attributes
    ----------
    conversions : dict (filename, line, how) -> count
        Where a value of a tensor that requires grad left the graph, by `how` ("float", "item", "detach", ...), and
        where recording ends ("no_grad").
    """

    def __init__(self, own):
        self._own = own
        self._clock = []  # sequence numbers, rising
        self._places = []  # (filename, line) from that number on
        self.conversions = {}
        self._recording = None  # the frame whose line ran last while operations were recorded

    def __enter__(self):
        self._before = sys.gettrace(), set_conversion_notice(self._converted)
        sys.settrace(self._call)
        return self

    def __exit__(self, *exc):
        sys.settrace(self._before[0])
        set_conversion_notice(self._before[1])

    def of(self, node):
        """(filename, line) that recorded a node, None if it was none of the user's."""
        at = bisect.bisect_right(self._clock, node.sequence_nr) - 1
        return self._places[at] if at >= 0 else None

    def _call(self, frame, event, argument):
        return self._line if self._own(frame.f_code.co_filename) else None

    def _line(self, frame, event, argument):
        if event == "return":  # what follows belongs to the caller's line again
            frame = frame.f_back
            if frame is None or not self._own(frame.f_code.co_filename):
                return None
        elif is_grad_enabled():
            self._recording = frame
        elif self._recording is not None:
            # Off since the line before, or a decorator's doing; the forward of a custom Function is neither.
            if self._recording is frame or _file_of(frame.f_back) == no_grad.__call__.__code__.co_filename:
                self._count(frame, "no_grad")
            self._recording = None
        place = (frame.f_code.co_filename, frame.f_lineno)
        if not self._places or self._places[-1] != place:
            # A node of its own is the clock: every node takes the next number.
            self._clock.append(PyNode("clock", None).sequence_nr)
            self._places.append(place)
        return self._line

    def _converted(self, how):
        frame = sys._getframe(1)
        if how in _NAMED:  # arraygrad uses these itself: only what the user's code names counts
            while frame is not None and frame.f_code.co_filename.endswith(".pyx"):
                frame = frame.f_back
            while _file_of(frame) == stop_gradient.__code__.co_filename:
                how = "stop_gradient"
                frame = frame.f_back
            if frame is None or not self._own(frame.f_code.co_filename) or how not in frame.f_code.co_names:
                return
            if how == "array" and frame.f_code.co_code[frame.f_lasti] != _LOAD_ATTR:  # hasattr asks, too
                return
        while frame is not None and not self._own(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None:
            self._count(frame, how)

    def _count(self, frame, how):
        key = (frame.f_code.co_filename, frame.f_lineno, how)
        self.conversions[key] = self.conversions.get(key, 0) + 1


def _file_of(frame):
    return None if frame is None else frame.f_code.co_filename


def own_line(error, own):
    """(filename, line) of the innermost frame of the user's own code in an error's traceback, None if there is none."""
    found = None
    traceback = error.__traceback__
    while traceback is not None:
        if own(traceback.tb_frame.f_code.co_filename):
            found = (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def nodes_behind(roots):
    """Every node that can be reached from `roots`, these included, each once."""
    found = dict.fromkeys(roots)
    left = list(found)
    while left:
        for child, _ in left.pop().next_functions:
            if child is not None and child not in found:
                found[child] = None
                left.append(child)
    return list(found)


def shown(place):
    """`model.py:12: np.fft.fftfreq(x)` for a (filename, line), with the path as it is shortest."""
    if place is None:
        return "(in no line of your own)"
    filename, line = place
    source = linecache.getline(filename, line).strip()
    path = Path(filename)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return f"{path}:{line}: {source}" if source else f"{path}:{line}"
