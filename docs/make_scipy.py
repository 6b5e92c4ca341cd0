"""Writes docs/_made/scipy/*.md: a page for each chapter of arraygrad.scipy, with every function that it declares.

What a function takes and returns is SciPy's, and stands in SciPy's manual; the pages say what it is differentiated in.
"""

import importlib
import inspect
import re
from pathlib import Path

from make_docstrings import escaped

from arraygrad.scipy import CHAPTERS
from arraygrad.scipy._declare import REGISTRY

MANUAL = "https://docs.scipy.org/doc/scipy/reference"


def write(folder: Path) -> None:
    """One page for each chapter."""
    folder.mkdir(parents=True, exist_ok=True)
    for chapter in CHAPTERS:
        (folder / f"{chapter}.md").write_text(page(chapter), encoding="utf-8")


def page(chapter: str) -> str:
    """The page of a chapter: functions in the order of their names, then objects (distributions) with their methods."""
    module = importlib.import_module(f"arraygrad.scipy.{chapter}")
    objects = getattr(module, "OBJECTS", {})
    functions, methods = {}, {name: [] for name in objects}
    for name, rule in REGISTRY.items():
        first, _, rest = name.partition(".")
        owner, _, method = rest.rpartition(".")
        if first == chapter and owner in objects:
            methods[owner].append((method, rule))
        elif first == chapter:
            functions[rest] = rule
    lines = [f"# arraygrad.scipy.{chapter}", ""]
    lines += [f"Parameters, results and errors are those of [scipy.{chapter}]({MANUAL}/{chapter}.html).", ""]
    lines += ["```{eval-rst}"]
    for name in sorted(functions, key=str.lower):
        lines += described(f"arraygrad.scipy.{chapter}.{name}", functions[name])
    for name in sorted(objects, key=str.lower):
        lines += [f".. py:data:: arraygrad.scipy.{chapter}.{name}", ""]
        lines += [f"   {line}".rstrip() for line in summary(objects[name])]
        groups = {}
        for method, rule in methods[name]:
            groups.setdefault(derivative(rule), []).append(f"``{method}``")
        lines += [f"   - {', '.join(found)}: {text}" for text, found in groups.items()]
        lines += [""]
    return "\n".join([*lines, "```", ""])


def described(name: str, rule) -> list[str]:
    """The directive of one function."""
    kind = "class" if inspect.isclass(rule.function) else "function"
    text = derivative(rule)
    return [
        f".. py:{kind}:: {name}{parameters(name, rule.function)}",
        "",
        *[f"   {line}".rstrip() for line in summary(rule.function)],
        f"   {text[0].upper()}{text[1:]}",
        "",
    ]


def parameters(name: str, function) -> str:
    """The parameters in parentheses: of a ufunc as its docstring names them, of others as they are."""
    text = (inspect.getdoc(function) or "").partition("Parameters\n")[0]
    shown = re.findall(rf"^ *{name.rpartition('.')[2]}(\(.*\))$", text, re.M)
    if shown:
        return shown[-1]
    try:
        found = str(inspect.signature(function))
    except (TypeError, ValueError):
        return "(...)"
    return re.sub(r"<[^<>]*>", "...", found)  # defaults that are objects


def derivative(rule) -> str:
    """What is known of the derivative, as a sentence without its capital letter."""
    if rule.of:
        order = ", once" if rule.order == "first" else ""
        return f"differentiable in {', '.join([f'``{name}``' for name in rule.of])}{order}."
    if rule.constant:
        return "constant wherever it has a derivative."
    return f"refused for Tensors that require grad: {escaped(rule.reason)}."


def summary(thing) -> list[str]:
    """The sentence of SciPy's docstring that says what it is, and a blank line; nothing where there is none."""
    text = inspect.getdoc(thing) or ""
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(paragraph.split())
        # The first line is ours, ufuncs show their signature, and titles are underlined.
        if line and not re.match(r"scipy\.|\w+\(.*\)$|Parameters|Note", line) and "---" not in line:
            return [escaped(line), ""]
    return []
