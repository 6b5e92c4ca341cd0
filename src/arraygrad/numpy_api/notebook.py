"""What a notebook shows of a Tensor: its values, and beside them shape, dtype, device and how it was made.

May import: core.convert, core.tensor, html. Loaded when a notebook first asks.
"""

from html import escape

from arraygrad.core.convert import values_text

__all__ = ["tensor_html"]


def tensor_html(t):
    """The HTML of a Tensor."""
    facts = [("shape", _shape(t.shape)), ("dtype", t.dtype), ("device", t.device), ("", _recorded(t))]
    shown = " ".join(
        f"<span>{escape(title)}{' ' * bool(title)}<b>{escape(str(value))}</b></span>" for title, value in facts if value
    )
    values = f'<pre style="margin: 0.3em 0">{escape(values_text(t))}</pre>'
    return f'<div><div style="font-size: 90%; word-spacing: 0.1em">Tensor: {shown}</div>{values}</div>'


def _shape(shape):
    return " x ".join(map(str, shape)) if shape else "scalar"


def _recorded(t):
    try:
        node = t.grad_fn
    except RuntimeError:  # a view that can't be used after its base was written
        return "grad_fn=<Invalid>"
    if node is not None:
        return f"grad_fn=<{node.name()}>"
    return "requires_grad=True" if t.requires_grad else ""
