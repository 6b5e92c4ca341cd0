"""Makes reStructuredText of docstrings: outside of code, stars and bars are products and absolute values."""

import re

PARAMETER = re.compile(r"\*{0,2}\w+(, \*{0,2}\w+)*( : |$)")


def process(app, what, name, obj, options, lines):
    """Sphinx's event autodoc-process-docstring: `lines` is changed in place."""
    in_code = False
    for number, line in enumerate(lines):
        in_code = bool(line.strip()) and (in_code or line.lstrip().startswith(">>>"))
        if in_code or PARAMETER.match(line):
            continue
        pieces = re.split(r"(`+[^`]*`+)", line)
        lines[number] = "".join(p if p.startswith("`") else re.sub(r"[*|]|_(?=\W|$)", r"\\\g<0>", p) for p in pieces)
