"""Where the elements of an array lie in memory, for arrays of any library.

May import: nothing of arraygrad.
"""

__all__ = ["extent", "overlap"]


def overlap(a, b):
    """Whether elements of two arrays, of one library or two, may lie in the same memory."""
    if a is b:
        return True
    first, second = extent(a), extent(b)
    return first is not None and second is not None and first[0] < second[1] and second[0] < first[1]


def extent(array):
    """(first byte, one past the last byte) that `array` reaches, or None where its library does not say."""
    for name in ("__array_interface__", "__cuda_array_interface__"):
        try:
            interface = getattr(array, name)
        except (AttributeError, TypeError, RuntimeError, ValueError):
            continue
        return _of_interface(interface)
    try:
        start, steps = array.data_ptr(), array.stride()
        width = array.element_size()
    except (AttributeError, TypeError, RuntimeError):
        return None
    return _span(start, tuple(array.shape), [s * width for s in steps], width)


def _of_interface(interface):
    start = interface["data"][0]
    width = int(interface["typestr"][2:])
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is None:
        strides, step = [], width
        for n in reversed(shape):
            strides.insert(0, step)
            step *= n
    return _span(start, shape, strides, width)


def _span(start, shape, strides, width):
    low = high = start
    for n, step in zip(shape, strides, strict=True):
        if n == 0:
            return None
        reach = (n - 1) * step
        if reach < 0:
            low += reach
        else:
            high += reach
    return low, high + width
