"""Whether the host waited for the device: counted on the host device, refused by CuPy's own detector on a GPU.

Imports nothing of arraygrad.
"""

import contextlib
import warnings


class Waits:
    """How often the host waited within the block; on a GPU 1 where it did at all."""

    count = 0


@contextlib.contextmanager
def waits_counted():
    """Yields Waits, filled when the block is left. Of this thread: nodes have to run on it too."""
    found = Waits()
    try:
        import host_cuda
    except ImportError:
        import cupyx
        from cupyx import DeviceSynchronized

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the detector is going to be removed, as it does not see everything
            detector = cupyx.allow_synchronize(False)
            try:
                with detector:
                    yield found
            except DeviceSynchronized:
                found.count = 1
        return
    before = host_cuda.waits()
    yield found
    found.count = host_cuda.waits() - before
