"""What setup.py changes in the C++ that Cython writes: what the library of all modules needs, and smaller code.

Text in, text out. Each function leaves text that it has changed once as it is, and text whose form it does not know.
"""

import collections
import re
from collections.abc import Iterable

SELDOM = "ARRAYGRAD_SELDOM"  # error_paths.hpp
SHARED = "ARRAYGRAD_SHARED"  # module_import.hpp, as the next two
SHARED_DATA = "ARRAYGRAD_SHARED_DATA"
REQUIRE = "arraygrad_require_modules"
PYTHON = '#include "Python.h"'
MODULE_IMPORT, DROPPED_REFERENCES = "module_import.hpp", "dropped_references.hpp"

# What Cython 3.3 writes for [f(x) for x in y]: the helper takes the item over, and gives it up where the list cannot
# grow; then the way out gives it up again.
APPEND = re.compile(
    r"(if \((?:unlikely\()?__Pyx_ListComp_AppendAndDecref\(\w+, (?:\(?\(PyObject ?\*\))?(\w+)\)+(?: < \(0\)\))?)"
    r" (__PYX_ERR\([^)]*\))"
)
# How Cython imports each module that it cimports from.
IMPORT = re.compile(r'PyImport_ImportModule\((?="arraygrad\.|__Pyx_BUILTIN_MODULE_NAME\))')
# Where a function that Cython has compiled adds its line to a traceback.
TRACEBACK = re.compile(r"\bPyTraceBack_Here\(")
# A type of another module, with the table of its methods, where a module takes both as it starts.
TYPE = re.compile(
    r"  __pyx_mstate->(__pyx_ptype_\w+) = __Pyx_ImportType_\w+\((?:(?!__Pyx_ImportType_\w+\().)*?\);"
    r" if \(!__pyx_mstate->\1\) __PYX_ERR\([^)]*\)\n"
    r"(?:  if \(unlikely\(__Pyx_GetVtable\(__pyx_mstate->\1, \(void\*\*\)&(__pyx_vtabptr_\w+)\) != 1\)\)"
    r" __PYX_ERR\([^)]*\)\n)?",
    re.DOTALL,
)
TABLE = re.compile(r"^static struct \w+ \*(__pyx_vtabptr_\w+);\n", re.MULTILINE)
TYPE_NAME = re.compile(r"__pyx_(?:ptype|vtabptr)_\w+")
# Where each type stands besides: a field for it, which is cleared and visited, and a variable for the table.
FIELD = re.compile(
    r"^    PyTypeObject \*(__pyx_ptype_\w+);$"
    r"|^  Py_(?:CLEAR\(clear_module_state|VISIT\(traverse_module_state)->(__pyx_ptype_\w+)\);$"
    r"|^static struct \w+ \*(__pyx_vtabptr_\w+);$",
    re.MULTILINE,
)


def with_safe_lists(text: str) -> str:
    """The C++ of a module that is safe where there is no memory for a list."""
    return APPEND.sub(r"\1 { \2 = 0; \3 }", text)


def with_checked_tracebacks(text: str) -> str:
    """The C++ of a module for which a call that fails without an exception is a SystemError.

    Cython adds a line to the traceback of the exception there is, and calls vectorcall functions without asking whether
    they set one. From CPython 3.12 on, PyTraceBack_Here reads it unchecked. NumPy's nditer sets none without memory.
    """
    text, count = TRACEBACK.subn("arraygrad_traceback_here(", text)
    return with_header(text) if count else text


def with_own_imports(text: str) -> str:
    """The C++ of a module that imports modules of the package by a function of the library's (Note [Loading] in
    src/arraygrad/_compiled.pyx)."""
    text, count = IMPORT.subn("arraygrad_import_module(", text)
    return with_header(text) if count else text


def with_header(text: str, name: str = MODULE_IMPORT) -> str:
    line = f'#include "{name}"\n'
    return text if line in text else text.replace(f"{PYTHON}\n", f"{PYTHON}\n{line}", 1)


def without_unused_types(text: str) -> str:
    """The C++ of a module that takes no type which it does not use.

    Cython takes all types of each .pxd that a module cimports from. Nine in ten are of no use to it, and take room and
    time as it starts. The other module is imported as before.
    """
    uses = collections.Counter(TYPE_NAME.findall(text))
    uses.subtract("".join(names) for names in FIELD.findall(text))
    unused = set()

    def kept(found: re.Match[str]) -> str:
        own = collections.Counter(TYPE_NAME.findall(found[0]))
        if any(uses[name] > own[name] for name in filter(None, found.groups())):
            return found[0]
        unused.add(found[2])
        return ""

    left = TYPE.sub(kept, text)
    return TABLE.sub(lambda found: "" if found[1] in unused else found[0], left)


def with_seldom_marked(text: str, module: str, everyday: frozenset[str]) -> str:
    """The C++ of a module whose functions are marked, all but the `everyday` ones: the compiler spares room there.

    What Cython writes for a function has the module's name in its own, and those of a method its class's, each part
    with its length before it; what reads the arguments of a Python function has a number before its name.
    """
    prefix = "".join(f"{len(part)}{part}_" for part in module.split("."))
    start = re.compile(
        rf"^(static|{SHARED}) (?:{SELDOM} )?(?=[^=;(){{}}\n]*?\b__pyx_(?:f|pw|pf)_{prefix}(\w+)\()", re.MULTILINE
    )

    def marked(found: re.Match[str]) -> str:
        return f"{found[1]} " if function_name(found[2]) in everyday else f"{found[1]} {SELDOM} "

    return start.sub(marked, text)


def function_name(written: str) -> str:
    """What Cython calls a function within its module, without the numbers before its parts: a method is Class_name."""
    return re.sub(r"(^|_)\d+(?=[A-Za-z_])", r"\1", written)


# --- Functions and variables of other modules -------------------------------------------------------------------------

# One of the functions that start a module.
PART = r"^static int __Pyx_modinit_{}_code\(__pyx_mstatetype \*__pyx_mstate\) \{{\n.*?^\}}\n"
EXPORTS = re.compile(PART.format("(?:Variable|Function|Shared_function)_export"), re.MULTILINE | re.DOTALL)
IMPORTS = re.compile(PART.format("(?:Variable|Function|Shared_function)_import"), re.MULTILINE | re.DOTALL)
TYPES = re.compile(PART.format("Type_import"), re.MULTILINE | re.DOTALL)
START = re.compile(r"static int (\w+)\(")
EXPORTED_FUNCTION = re.compile(r"\(void \(\*\)\(void\)\)&(\w+)")
EXPORTED_VARIABLE = re.compile(r"\(void \*\)&(\w+)")
BLOCK = re.compile(
    r'arraygrad_import_module\("(arraygrad[\w.]*)"\);.*?_import_pointers\[\](?:\)\(void\))? = \{([^}]*)\};', re.DOTALL
)
IMPORTED_FUNCTION = re.compile(r"\(void \(\*\*\)\(void\)\)&(\w+)")
IMPORTED_VARIABLE = re.compile(r"\(void \*\*\)&__pyx_vp_(\w+)")
# The start of a declaration, up to a function's name or a variable's.
DECLARATION = re.compile(
    rf"^(?:CYTHON_UNUSED )?static (?:{SELDOM} )?(?:CYTHON_INLINE )?"
    r"(?=[^=;(){}\n]*\n?[^=;(){}\n]*?\b(?:(\w+)\(|(__pyx_v_\w+)(?: = [^;\n]*)?;))",
    re.MULTILINE,
)
# As other modules' functions and variables are declared.
POINTER = re.compile(r"^static ([^;=()\n]*)\(\*(\w+)\)(\([^;]*?\);)", re.MULTILINE)
VARIABLE_POINTER = re.compile(
    r"^static ([^;=()\n]*)\*__pyx_vp_(\w+) = 0;\n#define __pyx_v_\2 \(\*__pyx_vp_\2\)\n", re.MULTILINE
)


def linked_directly(texts: dict[str, str]) -> dict[str, str]:
    """The C++ of all modules (name -> text), which take each other's functions and variables from the linker.

    Cython has each module put pointers to its functions into a dict, under their C types as text, and every other look
    them up there as it starts, as for modules of other libraries: two thirds of all strings in the modules, and half of
    the code that starts them. All modules are linked into one library, so a name will do, and a call goes straight to
    the function. The modules import each other as before.

    Nothing is changed where some module has a form that is not known.
    """
    changed = {}
    for name, text in texts.items():
        text = taking_directly(giving_directly(text))
        if text is None:
            return texts
        changed[name] = text
    return changed


def giving_directly(text: str) -> str | None:
    """A module whose exported functions and variables the linker sees. None if it has an unknown form."""
    parts = EXPORTS.findall(text)
    functions = {name for part in parts for name in EXPORTED_FUNCTION.findall(part)}
    variables = {name for part in parts for name in EXPORTED_VARIABLE.findall(part)}
    if not functions | variables:
        return text
    given = set()

    def shared(found: re.Match[str]) -> str:
        if found[1] in functions:
            given.add(found[1])
            return f"{SHARED} "
        if found[2] in variables:
            given.add(found[2])
            return f"{SHARED_DATA} "
        return found[0]

    text = DECLARATION.sub(shared, text)
    if given != functions | variables:
        return None
    return with_header(EXPORTS.sub(lambda found: start_of(found[0], []), text))


def taking_directly(text: str | None) -> str | None:
    """A module that declares the functions and variables of others. None if it has an unknown form."""
    if text is None or not IMPORTS.search(text):
        return text
    functions: set[str] = set()
    variables: set[str] = set()
    modules: dict[str, None] = {}
    for part in IMPORTS.findall(text):
        blocks = BLOCK.findall(part)
        if len(blocks) != part.count("_import_pointers[]"):
            return None
        for module, pointers in blocks:
            modules[module] = None
            functions.update(IMPORTED_FUNCTION.findall(pointers))
            variables.update(IMPORTED_VARIABLE.findall(pointers))
    if not functions | variables:
        return text

    def function(found: re.Match[str]) -> str:
        if found[2] not in functions:
            return found[0]
        functions.discard(found[2])
        return f"{SHARED} {found[1].rstrip()} {found[2]}{found[3]}"

    def variable(found: re.Match[str]) -> str:
        variables.discard(found[2])
        return f"extern {SHARED_DATA} {found[1]}__pyx_v_{found[2]};\n"

    text = VARIABLE_POINTER.sub(variable, POINTER.sub(function, text))
    if functions or variables:
        return None
    there = TYPES.search(text)
    waiting = [module for module in modules if there is None or f'"{module}"' not in there[0]]

    def start(found: re.Match[str]) -> str:
        own = [module for module in waiting if f'"{module}"' in found[0]]
        waiting[:] = [module for module in waiting if module not in own]
        return start_of(found[0], own)

    return with_header(IMPORTS.sub(start, text))


def start_of(part: str, modules: Iterable[str]) -> str:
    """One of the functions that start a module, which only imports these modules."""
    names = "".join(f"{name}\\0" for name in modules)
    result = f'{REQUIRE}("{names}")' if names else "0"
    head = f"static int {START.match(part)[1]}(__pyx_mstatetype *__pyx_mstate) {{\n"
    return f"{head}  CYTHON_UNUSED_VAR(__pyx_mstate);\n  return {result};\n}}\n"


# Imports of modules of which nothing is taken by this.
BARE = re.compile(
    r"(?:  __pyx_t_1 = arraygrad_import_module\((?:\"[\w.]+\"|__Pyx_BUILTIN_MODULE_NAME)\);"
    r" if \(unlikely\(!__pyx_t_1\)\) __PYX_ERR\([^)]*\)\n"
    r"  __Pyx_GOTREF\(__pyx_t_1\);\n  __Pyx_DECREF\(__pyx_t_1\); __pyx_t_1 = 0;\n)+"
)


def with_short_imports(text: str) -> str:
    """The C++ of a module that imports modules, of which it takes no type, by one call. Python's own is there."""

    def short(found: re.Match[str]) -> str:
        names = "".join(f"{name}\\0" for name in re.findall(r'"([\w.]+)"', found[0]))
        return f'  if (unlikely({REQUIRE}("{names}") < 0)) __PYX_ERR(0, 1, __pyx_L1_error)\n' if names else ""

    return BARE.sub(short, text)


# --- Globals ----------------------------------------------------------------------------------------------------------

# What runs as a module starts, or is marked as seldom called.
RARE = re.compile(
    rf"^(?:static CYTHON_SMALL_CODE int __pyx_pymod_exec_|(?:static|{SHARED}) {SELDOM} )[^;{{}}]*\{{\n.*?^\}}\n",
    re.MULTILINE | re.DOTALL,
)


def with_globals_looked_up(text: str) -> str:
    """The C++ of a module that looks globals up where it runs rarely, and does not keep them there: that takes 70 bytes
    for each place."""
    return RARE.sub(
        lambda found: found[0].replace("__Pyx_GetModuleGlobalName(", "__Pyx_GetModuleGlobalNameUncached("), text
    )


# --- References that are given up -------------------------------------------------------------------------------------

# The way out of a function with an error, which begins with what the function held.
ERROR = re.compile(
    r"^  __pyx_L\d+_error:;\n(?:  (?:__Pyx|ARRAYGRAD)_XDECREF\((?:\(PyObject \*\))?__pyx_t_\d+\);\n)+", re.MULTILINE
)
GIVEN_UP = re.compile(r"\b(?:__Pyx|Py)_(X?DECREF(?:_SET)?\()")


def with_references_dropped(text: str) -> str:
    """The C++ of a module that calls a function for each reference that it gives up where it runs rarely."""

    def dropped(found: re.Match[str]) -> str:
        return GIVEN_UP.sub(r"ARRAYGRAD_\1", found[0])

    changed = RARE.sub(dropped, ERROR.sub(dropped, text))
    return text if changed == text else with_header(changed, DROPPED_REFERENCES)


# --- Constants --------------------------------------------------------------------------------------------------------

# The strings of a module, one after the other, with the length of each. Other ways of writing them, compressed, stand
# before this one. With other strings they would be wrong: CYTHON_COMPRESS_STRINGS=0 chooses this one.
STRINGS = re.compile(
    r"(#else /\* compression: none \()(\d+)( bytes\) \*/\nstatic const char bytes\[\] = )"
    r"((?:\"(?:\\.|[^\"\\])*\"\n?)+);"
)
COMPRESSED = '#error "these strings were changed: compile with CYTHON_COMPRESS_STRINGS=0"\n'
LENGTHS = re.compile(r"((?:str|bytes)_length_index\[\] = \{)([{}\d,]*)(\};)")
STRING_NAME = re.compile(r"^#define (\w+) __pyx_string_tab\[(\d+)\]$", re.MULTILINE)
LITERAL = re.compile(r'\\([0-7]{1,3}|.)|""|"|([^"\\]+)')
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
# How a code object is made: its arguments' number, its names, and the lines of its instructions, of which it has none.
CODE = re.compile(
    r"(__Pyx_PyCode_New_function_description descr = \{(\d+), \d+, (\d+), )(\d+)"
    r"(, \(unsigned int\)\(([\w|]*)\), \d+\};\n"
    r" *PyObject\* const varnames\[\] = \{)([^}]*)(\};\n[^\n]*= __Pyx_PyCode_New\(descr, varnames, [^\n,]*, [^\n,]*, )"
    r"(?:__pyx_mstate->\w+|NULL)(?=, tuple_dedup_map\))"
)


def with_short_code_objects(text: str) -> str:
    """The C++ of a module whose functions' code objects know names and number of arguments, and the first line.

    They do not know local variables, nor lines of instructions: nothing that `inspect` or a traceback reads. (A
    traceback's code objects are made as an error passes.)
    """

    def short(found: re.Match[str]) -> str:
        flags = found[6].split("|")
        count = int(found[2]) + int(found[3]) + ("CO_VARARGS" in flags) + ("CO_VARKEYWORDS" in flags)
        names = found[7].split(", ")[: count or 1]
        return f"{found[1]}{count}{found[5]}{', '.join(names) if count else '0'}{found[8]}NULL"

    return CODE.sub(short, text)


def without_unused_strings(text: str) -> str:
    """The C++ of a module whose strings that it does not use are empty."""
    strings = STRINGS.search(text)
    lengths = LENGTHS.findall(text)
    if strings is None or not lengths:
        return text
    data = literal_bytes(strings[4])
    sizes = [int(size) for _, listed, _ in lengths for size in re.findall(r"\d+", listed)]
    names: dict[int, list[str]] = collections.defaultdict(list)
    for name, index in STRING_NAME.findall(text):
        names[int(index)].append(name)
    uses = collections.Counter(re.findall(r"\b__pyx_(?:n|k|kp)_[ub]\w*", text))
    if len(data) != int(strings[2]) or len(data) != sum(sizes) or sorted(names) != list(range(len(sizes))):
        return text
    kept = [any(uses[name] > 1 for name in names[k]) for k in range(len(sizes))]
    left, position = [], 0
    for size, keep in zip(sizes, kept, strict=True):
        left.append(data[position : position + size] if keep else b"")
        position += size
    new = iter([len(part) for part in left])
    text = LENGTHS.sub(lambda found: found[1] + re.sub(r"\d+", lambda _: str(next(new)), found[2]) + found[3], text)
    whole = b"".join(left)
    if whole == data:
        return text
    return STRINGS.sub(lambda found: f"{COMPRESSED}{found[1]}{len(whole)}{found[3]}{literal(whole)};", text, count=1)


def literal_bytes(written: str) -> bytes:
    """What a string literal of C holds."""
    made = []
    for escape, plain in LITERAL.findall(written):
        if plain:
            made.append(plain.encode())
        elif escape:
            made.append(bytes([int(escape, 8)]) if escape.isdigit() else ESCAPES.get(escape, escape).encode())
    return b"".join(made)


def literal(data: bytes) -> str:
    """A string literal of C, in lines."""
    lines = [data[k : k + 100] for k in range(0, len(data), 100)] or [b""]
    return "\n".join(f'"{"".join(map(character, line))}"' for line in lines)


def character(code: int) -> str:
    return chr(code) if 32 <= code < 127 and code not in b'"\\?' else f"\\{code:03o}"
