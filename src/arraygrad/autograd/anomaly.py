"""Anomaly mode as users switch it on: `detect_anomaly` and `set_detect_anomaly` of `arraygrad.autograd`.

May import: engine. What the mode does stands in engine/anomaly.pyx.
"""

from __future__ import annotations

import warnings

from arraygrad.engine.anomaly import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    restore_anomaly_mode,
    switch_anomaly_mode,
)
from arraygrad.engine.modes import Mode

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


class detect_anomaly(Mode):
    """detect_anomaly(check_nan=True): in this block, find the operation whose gradient goes wrong.

    Each operation remembers where it was recorded. If its backward raises, a warning shows that place before the error
    arrives; with `create_graph`, also the places of the operations whose backward recorded it. With `check_nan`, a
    gradient that holds a nan is such an error: the backward stops at the first rule that returned one.

    The mode belongs to the context: other threads and asyncio tasks don't see it, the engine's own threads do. Forward
    and backward should both run in it. It costs a walk over the Python stack for every operation and a pass over every
    gradient, so it is for looking for errors only, and warns of that.

    Parameters
    ----------
    check_nan : bool
        Whether nan counts as an error.

    Notes
    -----
    Names and texts are those of `torch.autograd.detect_anomaly`; there the mode belongs to the process.

    Examples
    --------
    >>> import warnings
    >>> import arraygrad as ag
    >>> x = ag.tensor([0.0, 1.0], requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with ag.autograd.detect_anomaly():
    ...         (ag.sqrt(x) * 0.0).sum().backward()
    Traceback (most recent call last):
    RuntimeError: Function 'SqrtBackward' returned nan values in its 0th output.
    """

    def __init__(self, check_nan=True):
        super().__init__(switch_anomaly_mode, bool(check_nan), restore_anomaly_mode)
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            UserWarning,
            stacklevel=2,
        )


class set_detect_anomaly(Mode):
    """set_detect_anomaly(mode, check_nan=True): switch anomaly mode on or off in this context, from now on.

    It acts at once, as a plain call; as a context manager it restores the mode before the call at the end of the block.
    See `detect_anomaly`.

    Parameters
    ----------
    mode : bool
        Whether anomaly mode is on.
    check_nan : bool
        Whether nan counts as an error.

    Raises
    ------
    TypeError
        If `mode` is not a bool.

    Examples
    --------
    >>> import arraygrad as ag
    >>> with ag.autograd.set_detect_anomaly(True):
    ...     ag.autograd.is_anomaly_enabled()
    True
    """

    def __init__(self, mode, check_nan=True):
        if not isinstance(mode, bool):
            raise TypeError(f"set_detect_anomaly: mode must be True or False, got {type(mode).__name__}")
        super().__init__(switch_anomaly_mode, bool(check_nan) if mode else None, restore_anomaly_mode, now=True)
