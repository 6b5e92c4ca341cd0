"""What packaging/mending.py has changed in the C++ that Cython wrote, in numbers, and what it has left.

Another version of Cython may write C++ of a form that mending.py does not know: that is left as it is, and said here.
Counts text after mending, so a build that finds the text mended by the one before says the same.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import mending

# The fewest places of each kind that the modules have: half of those in the C++ of Cython 3.3.1, or less.
FEWEST = {
    "imports": 250,
    "unused types": 500,
    "linked functions": 1500,
    "list comprehensions": 60,
    "tracebacks": 50,
    "code objects": 300,
    "unused strings": 50,
    "seldom called functions": 2000,
    "globals": 350,
    "references": 9000,
}
# Of the kinds that are counted by their text: what stands there after mending, and what stood there before.
AFTER = {
    "imports": ["arraygrad_import_module(", f'{mending.REQUIRE}("'],
    "linked functions": [f"{mending.SHARED} ", f"{mending.SHARED_DATA} "],
    "tracebacks": ["arraygrad_traceback_here("],
    "seldom called functions": [f"{mending.SELDOM} "],
    "globals": ["__Pyx_GetModuleGlobalNameUncached("],
    "references": ["ARRAYGRAD_DECREF", "ARRAYGRAD_XDECREF"],
}
BEFORE = {
    "imports": ['PyImport_ImportModule("arraygrad.'],
    "linked functions": ["_import_pointers[]", "_export_pointers[]"],
    "tracebacks": ["PyTraceBack_Here("],
}
LIST = re.compile(r"__Pyx_ListComp_AppendAndDecref\([^{}\n]*\) (?:(\{ \w+ = 0;)|__PYX_ERR)")
TYPE_FIELD = re.compile(r"^    PyTypeObject \*(__pyx_ptype_\w+);$", re.MULTILINE)
TYPE_SET = re.compile(r"->(__pyx_ptype_\w+) = ")
TYPE_TAKEN = re.compile(r"__pyx_mstate->(__pyx_ptype_\w+) = __Pyx_ImportType_\w+\(")
CODE_OBJECT = re.compile(r"= __Pyx_PyCode_New\(descr, ")


def of_lists(text: str) -> tuple[int, int]:
    changed = LIST.findall(text)
    return sum(map(bool, changed)), sum(not one for one in changed)


def of_types(text: str) -> tuple[int, int]:
    taken = TYPE_TAKEN.findall(text)
    unused = set(TYPE_FIELD.findall(text)) - set(TYPE_SET.findall(text))
    return len(unused), len(taken) - len(mending.TYPE.findall(text))


def of_code_objects(text: str) -> tuple[int, int]:
    known = [found[0].endswith("NULL") for found in mending.CODE.finditer(text)]
    return sum(known), len(CODE_OBJECT.findall(text)) - sum(known)


def of_strings(text: str) -> tuple[int, int]:
    return int(mending.COMPRESSED in text), int(mending.STRINGS.search(text) is None)


OF_KIND = {
    "unused types": of_types,
    "list comprehensions": of_lists,
    "code objects": of_code_objects,
    "unused strings": of_strings,
}


def counted(kind: str, text: str) -> tuple[int, int]:
    """The places of one kind in a module's C++: those that are changed, and those that should be and are not."""
    if kind in OF_KIND:
        return OF_KIND[kind](text)
    return sum(map(text.count, AFTER[kind])), sum(map(text.count, BEFORE.get(kind, ())))


def counts(text: str, kinds: Iterable[str]) -> dict[str, tuple[int, int]]:
    """`counted` for each kind."""
    return {kind: counted(kind, text) for kind in kinds}


def report(numbers_of: Mapping[str, Mapping[str, Sequence[int]]], kinds: Iterable[str]) -> list[str]:
    """What a build prints: a line of all kinds, and a warning for each kind of which too little was changed.

    `numbers_of` has the `counts` of all modules but the library's own.
    """
    lines, changed = [], {}
    for kind in kinds:
        places = [numbers[kind] for numbers in numbers_of.values()]
        changed[kind], left = (sum(numbers) for numbers in zip((0, 0), *places, strict=True))
        form = "Cython's output has a form that packaging/mending.py does not know"
        if left:
            names = ", ".join([name for name, (_, left) in zip(numbers_of, places, strict=True) if left][:3])
            lines.append(f"warning: {kind}: {left} places were not changed ({names} ...): {form}")
        elif changed[kind] < FEWEST[kind]:
            lines.append(
                f"warning: {kind}: {changed[kind]} places were changed, expected {FEWEST[kind]} or more: {form}"
            )
    numbers = ", ".join(f"{kind} {number}" for kind, number in changed.items())
    return [f"C++ of {len(numbers_of)} modules mended: {numbers}", *lines]
