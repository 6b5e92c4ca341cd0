"""Makes reStructuredText of docstrings: outside of code, stars and bars are products and absolute values."""

import re

PARAMETER = re.compile(r"\*{0,2}\w+(, \*{0,2}\w+)*( : |$)")


def process(app, what, name, obj, options, lines):
    """Sphinx's event autodoc-process-docstring: `lines` is changed in place."""
    if what in ("property", "attribute", "data") and lines:
        lines[0] = lines[0].replace(": ", " - ", 1)  # napoleon would take what stands before a colon for a type
    doctest = literal = False
    for number, line in enumerate(lines):
        doctest = bool(line.strip()) and (doctest or line.lstrip().startswith(">>>"))
        literal = literal and (not line.strip() or line.startswith(" "))
        if not (doctest or literal or PARAMETER.match(line)):
            lines[number] = escaped(line)
        literal = literal or line.endswith("::")


def escaped(line):
    """A line of text in which stars, bars and underscores stand for themselves, but in code."""
    pieces = re.split(r"(`+[^`]*`+)", line)
    return "".join([p if p.startswith("`") else re.sub(r"[*|]|_(?=\W|$)", r"\\\g<0>", p) for p in pieces])
