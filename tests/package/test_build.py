"""Options of a release build: which module gets which, and that a compiler that lacks them is served without.

Imports setup.py and, in it, Cython and setuptools.
"""

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import sysconfig
import types
from pathlib import Path

import pytest
from sources import ROOT, module_name, source_files

pytest.importorskip("Cython", reason="Cython, which only a build needs, is not installed")
pytest.importorskip("setuptools", reason="setuptools, which only a build needs, is not installed")

COMPILED = {module_name(path) for path in source_files(".pyx")}


@pytest.fixture
def build(monkeypatch):
    """setup.py as a module, in the folder of the sources, for a release build."""
    if not (ROOT / "setup.py").exists():
        pytest.skip("setup.py is not there")
    for name in ("ARRAYGRAD_DEBUG", "ARRAYGRAD_SANITIZE", "ARRAYGRAD_TRACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(ROOT)
    spec = importlib.util.spec_from_file_location("setup_of_arraygrad", ROOT / "setup.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def command(build):
    """build_ext with a compiler."""
    from setuptools import Distribution  # before distutils, which is setuptools' own

    from distutils.ccompiler import new_compiler  # isort: skip
    from distutils.sysconfig import customize_compiler  # isort: skip

    if sys.platform == "win32" or not (shutil.which("c++") or shutil.which("g++")):
        pytest.skip("no compiler of the kind of GCC or clang")
    made = build.BuildExt(Distribution())
    made.compiler = new_compiler()
    customize_compiler(made.compiler)
    return made


def named(build, name):
    return build.Extension(name, [])


def test_modules_that_are_made_small_or_fast_exist(build):
    assert sorted((build.SMALL | build.FAST) - COMPILED) == [build.UTILITY]
    assert not build.SMALL & build.FAST


@pytest.mark.skipif(sys.platform == "win32", reason="these are options of GCC and clang")
def test_each_module_has_the_options_of_one_kind(build):
    kinds = {name: tuple(build.size_flags(named(build, name))) for name in COMPILED | {build.UTILITY}}
    sparing, loops = tuple(build.SPARING), tuple(build.SPARING_LOOPS)
    assert set(kinds.values()) == {("-Os",), (), tuple(build.UNALIGNED), sparing, loops}
    assert kinds["arraygrad.core.apply"] == tuple(build.UNALIGNED)
    assert kinds["arraygrad.core.roots"] == sparing
    assert kinds["arraygrad.backends.numpy.windows"] == loops
    assert kinds["arraygrad.core.exports"] == ("-Os",)


def test_a_module_takes_the_types_of_others_that_it_uses(build):
    def taken(name, line):
        return (
            f'  __pyx_mstate->__pyx_ptype_{name} = __Pyx_ImportType_3_3_1(__pyx_t_1, "m", "{name}",\n'
            f"  #if X\n  sizeof(struct {name}), 8,\n  #endif\n"
            f"  Warn); if (!__pyx_mstate->__pyx_ptype_{name}) __PYX_ERR(0, {line}, __pyx_L1_error)\n"
            f"  if (unlikely(__Pyx_GetVtable(__pyx_mstate->__pyx_ptype_{name}, (void**)&__pyx_vtabptr_{name}) != 1))"
            f" __PYX_ERR(0, {line}, __pyx_L1_error)\n"
        )

    def module(taken, tables, body):
        state = "".join(
            f"    PyTypeObject *__pyx_ptype_{n};\n  Py_CLEAR(clear_module_state->__pyx_ptype_{n});\n"
            f"  Py_VISIT(traverse_module_state->__pyx_ptype_{n});\n"
            for n in "ABC"
        )
        return "".join(f"static struct V *__pyx_vtabptr_{n};\n" for n in tables) + state + taken + body

    body = "f(__pyx_ptype_B); __pyx_vtabptr_C->g();\n"
    whole = module(taken("A", 1) + taken("B", 2) + taken("C", 3), "ABC", body)
    assert build.mending.without_unused_types(whole) == module(taken("B", 2) + taken("C", 3), "BC", body)


def test_a_traceback_is_added_to_an_exception_that_there_is(build):
    text = '#include "Python.h"\n    PyTraceBack_Here(py_frame);\n'
    mended = build.mending.with_checked_tracebacks(text)
    assert mended == '#include "Python.h"\n#include "module_import.hpp"\n    arraygrad_traceback_here(py_frame);\n'
    assert build.mending.with_checked_tracebacks(mended) == mended


def test_functions_that_are_called_every_day_are_in_their_modules(build):
    listed = build.everyday_functions()
    assert listed.keys() <= COMPILED
    assert "new_op_node" in listed["arraygrad.core.nodes"]
    for path in source_files(".pyx"):
        words = set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
        declared = path.with_suffix(".pxd")
        words |= set(re.findall(r"\w+", declared.read_text(encoding="utf-8"))) if declared.exists() else set()
        for name in listed.get(module_name(path), ()):
            parts = re.sub(r"___(get|set|del)__$", "", name).split("_")
            assert any("_".join(parts[k:]) in words for k in range(len(parts))), f"{path}: {name}"


def test_functions_that_are_seldom_called_are_marked(build):
    text = """
static PyObject *__pyx_pw_1a_2bc_1often(PyObject *__pyx_self, PyObject *x); /*proto*/
static CYTHON_INLINE int __pyx_f_1a_2bc_seldom(struct S *, PyObject *); /*proto*/
static int __pyx_f_1a_2bc_4Kind_method(struct S *__pyx_v_self) {
  static int once = __pyx_f_1a_2bc_seldom(0, 0);
static PyObject *__pyx_pf_1a_2bc_4Kind_2other(struct S *self) {
static int (*__pyx_f_1a_2bc_pointer)(struct S *);
static int __pyx_f_1a_3bcd_elsewhere(struct S *); /*proto*/
"""
    marked = build.mending.with_seldom_marked(text, "a.bc", frozenset({"often", "Kind_other"}))
    assert [line.split("(")[0].split()[-1] for line in marked.splitlines() if "ARRAYGRAD_SELDOM" in line] == [
        "__pyx_f_1a_2bc_seldom",
        "__pyx_f_1a_2bc_4Kind_method",
    ]
    assert build.mending.with_seldom_marked(marked, "a.bc", frozenset({"often", "Kind_other"})) == marked
    everything = frozenset({"often", "Kind_other", "seldom", "Kind_method"})
    assert build.mending.with_seldom_marked(marked, "a.bc", everything) == text


def part(kind, code):
    return f"static int __Pyx_modinit_{kind}_code(__pyx_mstatetype *__pyx_mstate) {{\n{code}  return 0;\n}}\n"


def block(module, pointers):
    return (
        f'  __pyx_t_1 = arraygrad_import_module("{module}"); if (unlikely(!__pyx_t_1)) __PYX_ERR(0, 1, L1)\n'
        f"  void *const __pyx_import_pointers[] = {{{pointers}}};\n"
    )


GIVES = (
    """#include "Python.h"
static int __pyx_f_1a_one(int); /*proto*/
static CYTHON_INLINE int __pyx_f_1a_one(int __pyx_v_x) {
  return x;
}
static PyObject *
__pyx_f_1a_two(void) {
}
static double __pyx_v_1a_three;
static int __pyx_f_1a_own(int);
"""
    + part("Variable_export", "  void *const p[] = {(void *)&__pyx_v_1a_three, (void *) NULL};\n")
    + part(
        "Function_export",
        "  x = {(void (*)(void))&__pyx_f_1a_one, (void (*)(void))&__pyx_f_1a_two, (void (*)(void)) NULL};\n",
    )
)

TAKES = (
    """#include "Python.h"
static double *__pyx_vp_1a_three = 0;
#define __pyx_v_1a_three (*__pyx_vp_1a_three)
static int(*__pyx_f_1a_one)(int); /*proto*/
static int (*own)(int);
"""
    + part("Variable_import", block("arraygrad.a", "(void **)&__pyx_vp_1a_three, (void **) NULL"))
    + part("Function_import", block("arraygrad.a", "(void (**)(void))&__pyx_f_1a_one, (void (**)(void)) NULL"))
)


def test_modules_take_each_others_functions_from_the_linker(build):
    linked = build.mending.linked_directly({"a": GIVES, "b": TAKES})
    assert linked["a"] == (
        """#include "Python.h"
#include "module_import.hpp"
ARRAYGRAD_SHARED int __pyx_f_1a_one(int); /*proto*/
ARRAYGRAD_SHARED int __pyx_f_1a_one(int __pyx_v_x) {
  return x;
}
ARRAYGRAD_SHARED PyObject *
__pyx_f_1a_two(void) {
}
ARRAYGRAD_SHARED_DATA double __pyx_v_1a_three;
static int __pyx_f_1a_own(int);
"""
        + part("Variable_export", "  CYTHON_UNUSED_VAR(__pyx_mstate);\n")
        + part("Function_export", "  CYTHON_UNUSED_VAR(__pyx_mstate);\n")
    )
    required = part("Variable_import", "  CYTHON_UNUSED_VAR(__pyx_mstate);\n").replace(
        "return 0", 'return arraygrad_require_modules("arraygrad.a\\0")'
    )
    assert linked["b"] == (
        """#include "Python.h"
#include "module_import.hpp"
extern ARRAYGRAD_SHARED_DATA double __pyx_v_1a_three;
ARRAYGRAD_SHARED int __pyx_f_1a_one(int); /*proto*/
static int (*own)(int);
"""
        + required
        + part("Function_import", "  CYTHON_UNUSED_VAR(__pyx_mstate);\n")
    )
    assert build.mending.linked_directly(linked) == linked


@pytest.mark.parametrize("strange", ["static int __pyx_f_1a_one[3];", "int (*__pyx_f_1a_one)(int) = 0;"])
def test_modules_of_an_unknown_form_are_linked_as_cython_wrote_them(build, strange):
    texts = {"a": GIVES, "b": TAKES.replace("static int(*__pyx_f_1a_one)(int); /*proto*/", strange)}
    assert build.mending.linked_directly(texts) == texts


def test_code_objects_have_the_names_of_arguments_alone(build):
    def code(count, names, lines):
        return (
            f"    const __Pyx_PyCode_New_function_description descr = {{1, 0, 1, {count}, "
            f"(unsigned int)(CO_X|CO_VARARGS), 7}};\n"
            f"    PyObject* const varnames[] = {{{names}}};\n"
            f"    tab[0] = __Pyx_PyCode_New(descr, varnames, file, name, {lines}, tuple_dedup_map); if (x) goto bad;\n"
        )

    short = code(3, "a, b, c", "NULL")
    assert build.mending.with_short_code_objects(code(5, "a, b, c, d, e", "__pyx_mstate->__pyx_kp_b_1")) == short
    assert build.mending.with_short_code_objects(short) == short


def test_strings_that_a_module_does_not_use_are_empty(build):
    def module(sizes, text, error):
        return f"""
#define __pyx_kp_u_a __pyx_string_tab[0]
#define __pyx_n_u_b __pyx_string_tab[1]
#define __pyx_kp_b_c __pyx_string_tab[2]
    const struct {{ const unsigned int length: 3; }} str_length_index[] = {{{{{sizes[0]}}},{{{sizes[1]}}}}};
    const struct {{ const unsigned int length: 3; }} bytes_length_index[] = {{{{{sizes[2]}}}}};
{error}#else /* compression: none ({sum(sizes)} bytes) */
static const char bytes[] = {text};
use(__pyx_mstate->__pyx_n_u_b, __pyx_mstate->__pyx_kp_b_c);
"""

    good = module([0, 3, 2], r'"b\042\077\377c"', build.mending.COMPRESSED)
    assert build.mending.without_unused_strings(module([4, 3, 2], r'"a\na"" b\"?\377c"', "")) == good
    assert build.mending.without_unused_strings(good) == good


FAILING = {
    "what Cython writes most": "if (unlikely(__Pyx_ListComp_AppendAndDecref(__pyx_t_1, (PyObject*)__pyx_t_2)))",
    "without a cast": "if (unlikely(__Pyx_ListComp_AppendAndDecref(__pyx_t_1, __pyx_t_2)))",
    "a type's value": "if (unlikely(__Pyx_ListComp_AppendAndDecref(__pyx_t_1, ((PyObject *)__pyx_t_2))))",
    "a statement": "if (__Pyx_ListComp_AppendAndDecref(__pyx_t_1, __pyx_t_2) < (0))",
}


@pytest.mark.parametrize("condition", FAILING.values(), ids=FAILING)
def test_an_item_that_a_list_has_no_memory_for_is_given_up_once(build, condition):
    text = f"    {condition} __PYX_ERR(0, 7, __pyx_L1_error)\n"
    mended = build.mending.with_safe_lists(text)
    assert mended == f"    {condition} {{ __pyx_t_2 = 0; __PYX_ERR(0, 7, __pyx_L1_error) }}\n"
    assert build.mending.with_safe_lists(mended) == mended


def test_references_are_dropped_by_a_call_where_that_is_rare(build):
    def module(macros, include):
        inner, outer = macros
        return f"""#include "Python.h"
{include}static PyObject *often(void) {{
  __Pyx_XDECREF(__pyx_t_1);
  __pyx_L1_error:;
  __pyx_r = 0;
  __Pyx_XDECREF(__pyx_t_2);
  __pyx_L2_error:;
  {inner}_XDECREF(__pyx_t_1);
  {inner}_XDECREF((PyObject *)__pyx_t_2);
  __Pyx_AddTraceback("f", 0, 1, "f.pyx");
  __Pyx_XDECREF(__pyx_v_x);
}}
static ARRAYGRAD_SELDOM int seldom(void) {{
  {inner}_DECREF_SET(__pyx_v_x, __pyx_t_1);
  {outer}_XDECREF(values[0]); {outer}_DECREF(__pyx_t_1); __Pyx_CLEAR(__pyx_t_2);
}}
"""

    text = module(["__Pyx", "Py"], "")
    mended = build.mending.with_references_dropped(text)
    assert mended == module(["ARRAYGRAD"] * 2, '#include "dropped_references.hpp"\n')
    assert build.mending.with_references_dropped(mended) == mended


DROPPING = r"""
#define PY_SSIZE_T_CLEAN
#include "Python.h"
#include "dropped_references.hpp"
static long evaluated = 0;
static PyObject* counted(PyObject* object) { ++evaluated; return object; }
static PyObject* run(PyObject*, PyObject* pair) {
  PyObject *first = PyTuple_GET_ITEM(pair, 0), *second = PyTuple_GET_ITEM(pair, 1), *held = NULL;
  Py_INCREF(first);
  ARRAYGRAD_DECREF(counted(first));
  Py_INCREF(first);
  ARRAYGRAD_XDECREF(counted(first));
  ARRAYGRAD_XDECREF(counted(NULL));
  Py_INCREF(first);
  ARRAYGRAD_XDECREF_SET(held, counted(first));
  Py_INCREF(second);
  ARRAYGRAD_DECREF_SET(held, counted(second));
  ARRAYGRAD_XDECREF_SET(held, NULL);
  return PyLong_FromLong(held == NULL ? evaluated : -1);
}
static PyMethodDef methods[] = {{"run", run, METH_O, NULL}, {NULL}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "dropping", NULL, -1, methods};
PyMODINIT_FUNC PyInit_dropping(void) { return PyModule_Create(&module); }
"""


def test_references_are_dropped_as_cython_drops_them(command, tmp_path):
    """Compiled and run: NULL is left alone, an argument is evaluated once, and nothing is given up twice or kept."""
    (tmp_path / "dropping.cpp").write_text(DROPPING)
    includes = [str(ROOT / "src" / "arraygrad" / "engine"), sysconfig.get_path("include")]
    objects = command.compiler.compile(
        [str(tmp_path / "dropping.cpp")], output_dir="/", include_dirs=includes, extra_postargs=["-fPIC", "-std=c++17"]
    )
    path = tmp_path / f"dropping{sysconfig.get_config_var('EXT_SUFFIX')}"
    command.compiler.link_shared_object(objects, str(path), target_lang="c++")
    spec = importlib.util.spec_from_file_location("dropping", path)
    dropping = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dropping)
    pair = (type("First", (), {})(), type("Second", (), {})())
    before = [sys.getrefcount(thing) for thing in pair]
    assert dropping.run(pair) == 5
    assert [sys.getrefcount(thing) for thing in pair] == before


def of_all_kinds(number):
    """The C++ of a module with so many places of each kind, as Cython writes them."""
    places = """
    PyTypeObject *__pyx_ptype_T{k};
  __pyx_t_1 = PyImport_ImportModule("arraygrad.a");
static int __pyx_f_1a_{k}(int);
  if (unlikely(__Pyx_ListComp_AppendAndDecref(__pyx_t_1, __pyx_t_2))) __PYX_ERR(0, 1, L)
  PyTraceBack_Here(py_frame);
    const __Pyx_PyCode_New_function_description descr = {{1, 0, 0, 2, (unsigned int)(CO_X), 7}};
    PyObject* const varnames[] = {{a, b}};
    tab[0] = __Pyx_PyCode_New(descr, varnames, file, name, __pyx_mstate->__pyx_b, tuple_dedup_map);
static int __pyx_f_1a_seldom{k}(void) {{
  __Pyx_GetModuleGlobalName(__pyx_t_1, name);
  __Pyx_XDECREF(__pyx_t_1);
}}
"""
    exported = "".join(f"(void (*)(void))&__pyx_f_1a_{k}, " for k in range(number))
    exports = (
        part("Function_export", f"  void (*const __pyx_export_pointers[])(void) = {{{exported}}};\n") if number else ""
    )
    return '#include "Python.h"\n' + "".join(places.format(k=k) for k in range(number)) + exports


def mended_alone(build, text):
    mending = build.mending
    text = mending.linked_directly({"a": mending.without_unused_types(mending.with_own_imports(text))})["a"]
    text = mending.with_checked_tracebacks(mending.with_safe_lists(text))
    text = mending.with_seldom_marked(mending.with_short_code_objects(text), "a", frozenset())
    return mending.with_references_dropped(mending.with_globals_looked_up(text))


KINDS = [
    *["imports", "unused types", "linked functions", "list comprehensions", "tracebacks", "code objects"],
    *["seldom called functions", "globals", "references"],
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_build_says_how_many_places_were_mended(build, monkeypatch, kind):
    census = build.census
    monkeypatch.setattr(census, "FEWEST", dict.fromkeys(census.FEWEST, 3))
    mended = mended_alone(build, of_all_kinds(3))
    assert census.counted(kind, mended)[0] >= 3
    (line,) = census.report({"a": census.counts(mended, KINDS)}, KINDS)
    assert line.startswith("C++ of 1 modules mended: ")
    assert re.search(rf"{kind} \d", line)
    # The same where the build before has mended the text.
    assert census.report({"a": census.counts(mended_alone(build, mended), KINDS)}, KINDS) == [line]


@pytest.mark.parametrize("kind", KINDS)
def test_a_build_warns_where_fewer_places_than_expected_were_mended(build, monkeypatch, kind):
    census = build.census
    monkeypatch.setattr(census, "FEWEST", dict.fromkeys(census.FEWEST, 3))
    few = mended_alone(build, of_all_kinds(1))
    texts = {"a": few, "b": mended_alone(build, of_all_kinds(0))}
    line, warning = census.report({name: census.counts(text, [kind]) for name, text in texts.items()}, [kind])
    assert f"{kind} {census.counted(kind, few)[0]}" in line
    assert warning.startswith(f"warning: {kind}: ")
    assert "Cython's output has a form that packaging/mending.py does not know" in warning


@pytest.mark.parametrize("kind", ["imports", "linked functions", "list comprehensions", "tracebacks", "code objects"])
def test_a_build_warns_of_places_that_are_not_mended(build, monkeypatch, kind):
    monkeypatch.setattr(build.census, "FEWEST", dict.fromkeys(build.census.FEWEST, 0))
    text = of_all_kinds(2)
    lines = build.census.report({"a.b": build.census.counts(text, [kind])}, [kind])
    assert lines[1].startswith(f"warning: {kind}: ")
    assert "(a.b ...)" in lines[1]


def test_a_build_mends_only_what_cython_has_written_since_the_last_one(build, monkeypatch, tmp_path, capsys):
    everyday = tmp_path / "everyday.txt"
    everyday.write_text("a: f\n", encoding="utf-8")
    monkeypatch.setattr(build, "BUILD", tmp_path / "build")
    monkeypatch.setattr(build, "EVERYDAY", everyday)
    paths = {name: tmp_path / f"{name}.cpp" for name in ("a", "b")}
    modules = [types.SimpleNamespace(name=name, sources=[str(path)]) for name, path in paths.items()]
    looked, safe = [], build.mending.with_safe_lists
    monkeypatch.setattr(build.mending, "with_safe_lists", lambda text: looked.append(text) or safe(text))

    def mended():
        looked.clear()
        build.mended(modules)
        return len(looked), [path.read_text(encoding="utf-8") for path in paths.values()], capsys.readouterr().out

    for k, path in enumerate(paths.values()):
        path.write_text(of_all_kinds(k + 1), encoding="utf-8")
    count, texts, said = mended()
    assert count == 2
    assert texts[1].count("arraygrad_traceback_here(") == 2
    assert mended() == (0, texts, said)
    paths["b"].write_text(of_all_kinds(3), encoding="utf-8")
    count, again, _ = mended()
    assert (count, again[0]) == (1, texts[0])
    assert again[1].count("arraygrad_traceback_here(") == 3
    everyday.write_text("a: g\n", encoding="utf-8")
    assert mended()[0] == 2


def test_a_build_warns_of_types_and_strings_of_an_unknown_form(build):
    types = "  __pyx_mstate->__pyx_ptype_T = __Pyx_ImportType_9_0(m, in, another, form);\n"
    assert build.census.counted("unused types", types) == (0, 1)
    assert build.census.counted("unused strings", "const char bytes[] = ABC;") == (0, 1)


def test_the_fewest_places_that_are_expected_are_of_kinds_that_are_counted(build):
    assert [kind for kind in build.census.FEWEST if kind != "unused strings"] == KINDS


def test_each_module_is_compiled_with_the_macros_of_its_kind(build, monkeypatch):
    """Cython puts the macros that a .pxd names in the place of those that the module was given."""

    def cythonize(modules, **options):
        return [build.Extension(module.name, ["x.cpp"], define_macros=[("NAMED", "1")]) for module in modules]

    monkeypatch.setattr(build, "cythonize", cythonize)
    (made,) = build.cythonized([build.Extension("a.b", ["x.pyx"], define_macros=[("OWN", None)])], 1)
    assert made.define_macros == [("OWN", None), ("NAMED", "1")]


def test_sections_that_many_modules_have_are_listed_once(build, monkeypatch, tmp_path):
    monkeypatch.setattr(build, "BUILD", tmp_path)
    names = [
        "_ZL9__pyx_tp_new_a",
        "_ZL9__pyx_tp_dealloc_b",
        "_ZL16__Pyx_PyCode_New",
        "_ZL12__Pyx_Second",
        "_ZL9__pyx_f_a",
        "_ZL9__pyx_pymod_exec_a",
    ]
    for k in range(2):
        text = b"\0".join([b"", *[f".rela.text.{name}".encode() for name in names], b".text.Py_DECREF", b""])
        (tmp_path / f"{k}.o").write_bytes(text)
    listed = build.order_of_sections([str(tmp_path / f"{k}.o") for k in range(2)]).read_text().splitlines()
    assert listed == [
        ".text._ZL9__pyx_pymod_exec_a",
        ".text.Py_DECREF",
        ".text._ZL12__Pyx_Second",
        ".text._ZL16__Pyx_PyCode_New",
        ".text._ZL9__pyx_tp_dealloc_b",
        ".text._ZL9__pyx_tp_new_a",
    ]


@pytest.mark.parametrize("what", ["DEBUG", "SANITIZE", "MSVC"])
def test_other_builds_are_as_they_are(build, monkeypatch, what):
    monkeypatch.setattr(build, what, "address" if what == "SANITIZE" else True)
    assert [build.size_flags(named(build, name)) for name in sorted(COMPILED)] == [[]] * len(COMPILED)
    assert build.BuildExt.link_options(None, None) == []


def test_options_that_the_compiler_lacks_are_left_out(command):
    assert command.accepted("-O2") == ["-O2"]
    assert command.accepted("-O2", "-fno-such-option-of-any-compiler") == []
    assert command.accepted() == []


def test_options_that_the_linker_lacks_are_left_out(command):
    assert command.linked("-Wl,--no-such-option-of-any-linker") == []
    assert command.linked("-fuse-ld=no_such_linker") == []
    assert command.linked() == []


def test_a_build_in_place_keeps_its_names(command, tmp_path):
    order = tmp_path / "sections.txt"
    order.write_text("")
    of_a_wheel = command.link_options(order)
    command.keeps_names = True
    in_place = command.link_options(order)
    assert "-Wl,--strip-all" not in in_place
    assert [option for option in of_a_wheel if option not in in_place] in ([], ["-Wl,--strip-all"])


def test_the_library_in_place_has_names(build):
    library = sys.modules["arraygrad._compiled"].__file__
    if sys.platform != "linux" or not shutil.which("nm") or not library.startswith(str(ROOT / "src")):
        pytest.skip("no library in place, or nothing that reads its names")
    found = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    assert "__pyx_pymod_exec_apply" in found


def test_sections_have_names_and_sizes(command, build, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("one.cpp").write_text("".join(f"int f{k}(int x) {{ return {'+'.join(['x'] * k)}; }}\n" for k in (1, 90)))
    (path,) = command.compiler.compile(
        ["one.cpp"], output_dir="made", extra_postargs=["-O0", "-ffunction-sections", "-g0"]
    )
    found = dict(build.sections(Path(path).read_bytes()))
    if sys.platform != "linux" or not found:
        pytest.skip("objects are not ELF of 64 bits")
    assert found[b".text._Z3f90i"] > found[b".text._Z2f1i"] > 0
    assert build.sections(b"MZ and more") == build.sections(b"") == []


def test_what_is_seldom_called_lies_by_size_behind_the_others(build, monkeypatch, tmp_path):
    monkeypatch.setattr(build, "BUILD", tmp_path)
    sizes = {".text.unlikely.b": 70, ".text.unlikely.a": 90, ".text.unlikely.__pyx_pw_c": 80, ".text.often": 10}
    sizes[".text.unlikely.often"] = 5  # a part of a function
    monkeypatch.setattr(build, "sections", lambda data: [(name.encode(), size) for name, size in sizes.items()])
    (tmp_path / "0.o").write_bytes(b"\0.text.Py_DECREF\0")
    listed = build.order_of_sections([str(tmp_path / "0.o")]).read_text().splitlines()
    seldom = [f".text.unlikely.{name}" for name in ("__pyx_pw_c", "b", "a", "often")]
    assert listed == [".text.Py_DECREF", *seldom]


def test_a_wheel_has_the_stubs_that_programs_lead_to(build):
    of_use = build.stubs_of_use()
    stubs = {path.relative_to(ROOT) for path in (ROOT / "src").rglob("*.pyi")}
    assert of_use < stubs
    for path in stubs - of_use:  # of compiled modules alone
        assert path.with_suffix(".pyx").exists(), path
    for path in of_use:
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module, *[f"{node.module}.{name}" for name in names]]
            for name in names:
                stub = Path("src", *name.split(".")).with_suffix(".pyi")
                assert stub not in stubs or stub in of_use, (path, name)
    assert build.is_of_use(Path("src/arraygrad/py.typed"))
    assert build.is_of_use(Path("src/arraygrad/core/tensor.pyi"))
    assert not build.is_of_use(Path("src/arraygrad/core/copies.pyi"))  # nothing for Python
    assert not build.is_of_use(Path("src/arraygrad/adoption/exchange.pyi"))
