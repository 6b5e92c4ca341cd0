"""Numbers that are read from text that was made of a Tensor: each reader, each text, each way to name them."""

import ast
import configparser
import csv
import decimal
import fractions
import io
import json
import locale
import logging
import math
import plistlib
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
import types
import warnings
from ast import literal_eval
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import arraygrad as ag

S = 0.7


@pytest.fixture(autouse=True)
def _forget():
    yield
    ag.adopt.clear()


def _logged(text, x):
    stream = io.StringIO()
    log, handler = logging.Logger("read"), logging.StreamHandler(stream)
    log.addHandler(handler)
    log.warning(text, x)
    return stream.getvalue().strip()


TEXTS = {
    "str": lambda x: str(x),
    "float": lambda x: str(float(x)),
    "repr": lambda x: repr(float(x)),
    "format": lambda x: f"{x:.17g}",
    "rounded": lambda x: f"{math.sin(x):.3f}",
    "old": lambda x: "{:e}".format(x * 3.0),  # noqa: UP032
    "array2string": lambda x: np.array2string(np.array([x, 2.0 * x]), precision=12)[1:-1].split()[0],
    "thousands": lambda x: f"{x * 12345.6:,.3f}".replace(",", ""),
    "percent": lambda x: "%.7f" % (x * 1.5),
    "percent of a tuple": lambda x: "%s%.3e" % ("", x * 1.5),  # noqa: UP031
    "percent with digits": lambda x: "%.*f" % (9, x * 1.5),  # noqa: UP031
    "vectorize": lambda x: str(np.vectorize(str)(np.array([x * 1.5]))[0]),
    "percent sign": lambda x: f"{x * 1.5:.3%}"[:-1],
    "logged": lambda x: _logged("%.6f", x * 1.5),
}


def _in_function(text):
    import json as inner

    return inner.loads(text)


def _by_exec(text):
    names = {}
    exec(f"v = {text}", names)
    return names["v"]


def _by_local_exec(text):
    exec(f"v = [{text}]")
    return locals().get("v", [float(text)])[0]  # from Python 3.13 on, exec has names of its own


def _of_section(text):
    parser = configparser.ConfigParser()
    parser.read_string(f"[a]\nv = {text}")
    return parser


def _of_file(text):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(f"2.5 {text}")
        file.flush()
        return np.fromfile(file.name, sep=" ")[1]


CONNECTIONS = []


@pytest.fixture(autouse=True)
def _closed():
    yield
    while CONNECTIONS:
        CONNECTIONS.pop().close()


def _connected():
    CONNECTIONS.append(sqlite3.connect(":memory:"))
    return CONNECTIONS[-1]


def _of_database(text):
    return _connected().execute("select cast(? as real)", (text,))


def _of_rows(text):
    connection = _connected()
    connection.execute("create table t (v real)")
    connection.execute("insert into t values (?)", (text,))
    return connection


class Text(str):
    """Text of a class of the program's own."""


READERS = {
    "exec": _by_exec,
    "exec in the function's names": _by_local_exec,
    "compile": lambda text: eval(compile(text, "text", "eval")),
    "configparser": lambda text: _of_section(text).getfloat("a", "v"),
    "configparser, a section": lambda text: _of_section(text)["a"].getfloat("v"),
    "csv.reader": lambda text: next(csv.reader(io.StringIO(f"2.5,{text}"), quoting=csv.QUOTE_NONNUMERIC))[1],
    "csv.reader in a loop": lambda text: sum(
        row[0] for row in csv.reader(io.StringIO(f"{text}\n"), quoting=csv.QUOTE_NONNUMERIC)
    ),
    "csv.DictReader": lambda text: next(csv.DictReader(io.StringIO(f'"v"\n{text}\n'), quoting=csv.QUOTE_NONNUMERIC))[
        "v"
    ],
    "create_decimal": lambda text: float(decimal.getcontext().create_decimal(text)),
    "create_decimal of another context": lambda text: float(decimal.Context(prec=3).create_decimal(text)),
    "astype": lambda text: np.array([text, "2.5"]).astype(float)[0],
    "astype of bytes": lambda text: np.array([text.encode()]).astype(np.float64)[0],
    "array of an array of text": lambda text: np.array(np.array([text]), dtype=float)[0],
    "asarray of an array of text": lambda text: np.asarray(np.array([text]), float)[0],
    "array of nested text": lambda text: np.array([["2.5", text]], float)[0, 1],
    "fromfile": _of_file,
    "fromregex": lambda text: np.fromregex(io.StringIO(f"v={text}\n"), r"v=(\S+)", [("v", float)])["v"][0],
    "genfromtxt with names": lambda text: np.genfromtxt(io.StringIO(f"{text},2"), delimiter=",", names="a,b")["a"],
    "a query in a loop": lambda text: sum(row[0] for row in _of_rows(text).execute("select v from t")),
    "locale.atof": lambda text: locale.atof(text),
    "plistlib.loads": lambda text: plistlib.loads(f"<plist><real>{float(text)!r}</real></plist>".encode()),
    "JSONDecoder": lambda text: json.JSONDecoder().decode(f"[{text}]")[0],
    "raw_decode": lambda text: json.JSONDecoder().raw_decode(text)[0],
    "fetchone": lambda text: _of_database(text).fetchone()[0],
    "fetchall": lambda text: _of_database(text).fetchall()[0][0],
    "fetchmany": lambda text: _of_database(text).fetchmany(1)[0][0],
    "a query": lambda text: next(_connected().execute(f"select {text}"))[0],
    "json.loads": lambda text: json.loads(text),
    "json.loads of a document": lambda text: json.loads('{"kept": [1, ' + text + "]}")["kept"][1],
    "json.load": lambda text: json.load(io.StringIO(text)),
    "import in a function": _in_function,
    "eval": lambda text: eval(text),
    "eval of a formula's part": lambda text: eval(f"[{text}, 2.0]")[0],
    "ast.literal_eval": lambda text: ast.literal_eval(text),
    "literal_eval by its name": lambda text: literal_eval(f"({text}, 'a')")[0],
    "float of bytes": lambda text: float(text.encode()),
    "float of a bytearray": lambda text: float(bytearray(text.encode())),
    "float of a class derived from str": lambda text: float(Text(text)),
    "float of NumPy's str": lambda text: float(np.str_(text)),
    "a part of a complex number": lambda text: complex(f"{text}+1j").real,
    "the other part": lambda text: complex(f"2+{text}j").imag,
    "Decimal": lambda text: float(decimal.Decimal(text) * 2),
    "Decimal by its name": lambda text: float(Decimal(text).quantize(Decimal("0.01"))),
    "Fraction": lambda text: float(fractions.Fraction(text) / 3),
    "Fraction by its name": lambda text: float(Fraction(text)),
    "numpy.fromstring": lambda text: np.fromstring(f"2.5,{text}", sep=",")[1],
    "numpy.loadtxt": lambda text: np.loadtxt(io.StringIO(f"2.5 {text}\n3.5 4.5"))[0, 1],
    "numpy.genfromtxt": lambda text: np.genfromtxt(io.StringIO(f"2.5,{text}"), delimiter=",")[1],
    "numpy.array": lambda text: np.array([text], float)[0],
    "complex": lambda text: complex(text).real,
    "tomllib.loads": lambda text: tomllib.loads(f"k = {float(text)!r}")["k"],
    "eval of a formula": lambda text: eval(f"2 * {text} + 1.5"),
    "eval of a negative": lambda text: eval(f"-({text}) ** 2"),
    "upper": lambda text: complex(text.upper()).real,
    "another exponent": lambda text: complex(text.replace("e", "D").replace("D", "E")).real,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_number_read_from_text_of_a_tensor_is_told(text, read):
    def f(x):
        return x * float(read(text(x)))

    with pytest.warns(UserWarning, match=r"test_numbers_read_from_text\.py.*read from text that was made of a Tensor"):
        found = ag.value_and_grad(f)(S)
    kept = float(read(text(S)))
    assert found[0] == S * kept
    assert found[1] == kept


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_number_read_from_other_text_is_not_told(text, read):
    def f(x):
        shown = text(x)
        return x * float(read("0.25")) * len(shown)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ag.grad(f)(S)
    assert found == float(read("0.25")) * len(text(S))


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_text_of_a_stopped_gradient_is_not_told(read):
    def f(x):
        return x * float(read(str(float(ag.stop_gradient(x) + 0.0625))))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ag.grad(f)(S)
    assert found == float(read(str(S + 0.0625)))


def test_numbers_that_every_program_writes_are_not_told():
    def f(x):
        shown = f"{x - x} {x / x}"
        return x * (json.loads("[0.0, 1.0, -1.0]")[1] + len(shown))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ag.grad(f)(S) == 1.0 + len("0.0 1.0")


def test_text_of_another_call_is_not_told():
    def shows(x):
        return x * len(f"{x:.17g} {x}")

    def reads(x):
        return x * json.loads(str(S)) * complex(str(S)).real

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ag.grad(shows)(S)
        assert ag.grad(reads)(S) == S * S


def test_text_of_the_call_around_is_told():
    def f(x):
        text = str(x)
        return ag.grad(lambda y: y * y * json.loads(text))(2.0) * x

    with pytest.warns(UserWarning, match="read from text"):
        ag.grad(f)(S)


def test_the_last_of_many_texts_are_kept():
    def f(x):
        words = ",".join([str(v) for v in np.sin(x * np.arange(1.0, 1500.0))])
        return np.sum(x * np.fromstring(words, sep=","))

    with pytest.warns(UserWarning, match="read from text"):
        ag.grad(f)(S)


def test_evaluated_text_sees_the_names_of_its_function():
    seen = []

    def f(x):
        scale = 3.0  # noqa: F841
        seen.append(eval("scale * 2.0 + S"))
        seen.append(eval("a + b", {"a": 1.5}, {"b": 2.5}))
        seen.append(eval("a", {"a": 1.5}))
        seen.append(eval(compile("scale", "text", "eval")))
        return eval("scale * x * x")

    assert ag.grad(f)(S) == pytest.approx(6.0 * S, abs=1e-14)
    assert [float(v) for v in seen] == [6.7, 4.0, 1.5, 3.0]


def test_evaluated_text_raises_what_it_raises_in_a_plain_call():
    with pytest.raises(NameError, match="missing"):
        ag.grad(lambda x: x * eval("missing"))(S)
    with pytest.raises(TypeError, match="eval"):
        ag.grad(lambda x: x * eval(2.0))(S)


class Price(Decimal):
    """A class of the program's own, of the time before the call."""


def test_the_classes_stay_those_of_the_standard_library():
    seen = {}

    def f(x):
        class Money(Decimal):
            def twice(self):
                return self * 2

        money = Money("1.25")
        seen.update(
            derived=[kind.__name__ for kind in type(money).__mro__[:3]],
            twice=money.twice(),
            instance=isinstance(Decimal("2"), Decimal) and isinstance(money, Decimal) and not isinstance(2.0, Decimal),
            known=isinstance(Price("3"), Decimal) and issubclass(Price, Decimal) and issubclass(Money, Decimal),
            method=Decimal.from_float(0.5),
            text=repr(Fraction),
            kinds={Decimal: "d", Fraction: "f"}[type(Decimal("1"))],
            caught=_caught(),
        )
        match Fraction(1, 3):
            case Fraction(numerator=n):
                seen["matched"] = n
        return x * float(Decimal("0.5"))

    assert ag.grad(f)(S) == 0.5
    assert seen == {
        "derived": ["Money", "Decimal", "object"], "twice": Decimal("2.50"), "instance": True, "known": True,
        "method": Decimal("0.5"), "text": "<class 'fractions.Fraction'>", "kinds": "d", "caught": True, "matched": 1,
    }  # fmt: skip


def _caught():
    try:
        json.loads("{")
    except json.JSONDecodeError:
        pass
    try:
        Decimal("a")
    except decimal.InvalidOperation:
        return True


def test_the_modules_are_as_they_were_after_a_call():
    def held():  # ids, as names that are compared have no stand-ins
        return [id(kept) for kept in (json, json.loads, ast.literal_eval, decimal.Decimal, Decimal, Fraction, eval)]

    before = held()
    with pytest.warns(UserWarning, match="read from text"):
        ag.grad(lambda x: x * json.loads(str(x)) * float(Decimal(str(x))) * eval(str(x)))(S)
    assert held() == before
    assert str(json.loads).startswith("<function loads")


# Tables of pandas, which are text first.
TABLES = {
    "read_csv": lambda pd, text: pd.read_csv(io.StringIO(f"v\n{text}\n"))["v"].iloc[0],
    "read_csv by its name": lambda pd, text: (lambda read: read(io.StringIO(f"v\n{text}\n"))["v"].iloc[0])(pd.read_csv),
    "read_table": lambda pd, text: pd.read_table(io.StringIO(f"v\n{text}\n"))["v"].iloc[0],
    "read_json": lambda pd, text: pd.read_json(io.StringIO(f'[{{"v": {text}}}]'))["v"][0],
    "to_numeric": lambda pd, text: pd.to_numeric(pd.Series([text])).iloc[0],
    "to_numeric of a list": lambda pd, text: pd.to_numeric([text])[0],
    "DataFrame.eval": lambda pd, text: pd.DataFrame({"v": [1.0]}).eval(f"v * {text}").iloc[0],
    "Series.astype": lambda pd, text: pd.Series([text, "2.5"]).astype(float).iloc[0],
    "DataFrame.astype": lambda pd, text: pd.DataFrame({"v": [text]}).astype({"v": float})["v"].iloc[0],
}


@pytest.mark.parametrize("read", TABLES.values(), ids=TABLES)
def test_a_number_that_pandas_reads_is_told(read):
    pd = pytest.importorskip("pandas")

    def f(x):
        return x * float(read(pd, str(x)))

    with pytest.warns(UserWarning, match=r"test_numbers_read_from_text\.py.*read from text that was made of a Tensor"):
        assert ag.grad(f)(S) == pytest.approx(S, rel=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ag.grad(lambda x: x * float(read(pd, "0.25")) * len(str(x)))(S) == 0.75


@pytest.mark.parametrize("name", ["orjson", "yaml", "toml", "msgpack"])
def test_readers_of_other_libraries_are_told_when_they_are_loaded(name, monkeypatch):
    from arraygrad.adoption.text_names import LIBRARIES

    library = types.ModuleType(name)
    reads = LIBRARIES[name].split()[-1]

    def read(text):
        return {"v": [json.JSONDecoder.decode(_DECODER, text)]}

    setattr(library, reads, read)
    monkeypatch.setitem(sys.modules, name, library)
    ag.adopt.clear()
    with pytest.warns(UserWarning, match="read from text"):
        assert ag.grad(lambda x: x * getattr(library, reads)(str(x))["v"][0])(S) == S


_DECODER = json.JSONDecoder()


PROGRAMS = {
    "run": lambda text: subprocess.run([sys.executable, "-c", f"print({text})"], capture_output=True, text=True).stdout,
    "check_output": lambda text: subprocess.check_output([sys.executable, "-c", f"print({text})"], text=True),
    "input": lambda text: (
        subprocess.run(
            [sys.executable, "-c", "print(float(input()))"], input=text, stdout=subprocess.PIPE, text=True
        ).stdout
    ),
    "Popen": lambda text: subprocess.Popen(
        [sys.executable, "-c", f"print({text})"], stdout=subprocess.PIPE, text=True
    ).communicate()[0],
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_text_that_another_program_is_given_is_told(program):
    def f(x, shown):
        return x * float(program(str(shown(x)))) * 1.0

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ag.grad(lambda x: f(x, lambda x: x))(S)
        assert any("another program is given text" in str(one.message) for one in found)
        del found[:]
        assert ag.grad(lambda x: f(x, lambda x: ag.stop_gradient(x)))(S) == S  # the way out
        assert found == []


def test_numbers_shown_by_a_percent_sign_have_the_text_of_the_plain_call():
    seen = []

    def f(x):
        seen.append("%d %i %5.2f|%e|%s" % (x * 10.0, x, x, x, "a"))  # noqa: UP031
        seen.append("%(v)8.3f" % {"v": x})  # noqa: UP031
        return x * len(seen[0])

    plain = f(S) and seen[:]
    seen.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ag.grad(f)(S) == len(plain[0])
    assert seen == plain


def test_bytes_by_a_percent_sign_are_refused():
    with pytest.raises(TypeError, match=r"float argument required(.|\n)*test_numbers_read_from_text\.py"):
        ag.grad(lambda x: x * float(b"%.6f" % x))(S)


def test_methods_of_float_that_write_a_number_are_refused():
    for f in (lambda x: x * float.fromhex(float.hex(x)), lambda x: x * float.fromhex(x.hex())):
        with pytest.raises(AttributeError, match="stop_gradient"):
            ag.grad(f)(S)
    for f in (lambda x: x * float.as_integer_ratio(x)[0], lambda x: x * x.as_integer_ratio()[0]):
        with pytest.raises(TypeError, match="Two ints hold no gradient"):
            ag.grad(f)(S)
    assert ag.grad(lambda x: x * float.fromhex(float.hex(0.5)))(S) == 0.5


def test_an_array_that_requires_grad_is_no_array_of_text():
    with pytest.raises(TypeError, match=r"numpy\.asarray\(arraygrad\.stop_gradient\(t\)\)\.astype\(str\)"):
        ag.grad(lambda x: np.sum(x * x.astype(str).astype(float)))(np.array([0.1, 2.0]))


def test_a_constant_as_text_has_the_text_of_the_plain_call():
    seen = []

    def f(x):
        t = ag.stop_gradient(x) * 1.5
        seen.append(t.astype(str))
        seen.append(t.astype("S32"))
        seen.append(t.astype(dtype="U8"))
        seen.append(np.linspace(0.0, 1.0, 4).astype(str))
        return np.sum(x)

    x = np.array([0.1, 1.0 / 3.0, 2e-7])
    f(x)
    plain = seen[:]
    seen.clear()
    assert np.array_equal(ag.grad(f)(x), np.ones(3))
    for found, expected in zip(seen, plain, strict=True):
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()


FIRST = {
    "plistlib": "import plistlib\n    v = plistlib.loads(f'<plist><real>{x}</real></plist>'.encode())",
    "tomllib": "import tomllib\n    v = tomllib.loads(f'v = {x}')['v']",
    "json": "from json import loads\n    v = loads(f'[{x}]')[0]",
    "decimal": "from decimal import Decimal\n    v = float(Decimal(f'{x}'))",
    "csv": "import csv\n    v = next(csv.reader([f'{x}'], quoting=csv.QUOTE_NONNUMERIC))[0]",
    "locale": "import locale\n    v = locale.atof(f'{x}')",
}


@pytest.mark.parametrize("body", FIRST.values(), ids=FIRST)
def test_the_first_import_of_a_module_in_a_functions_body_is_seen(body):
    code = f"import arraygrad as ag\ndef f(x):\n    {body}\n    return x * v\nprint(ag.grad(f)(0.7))\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == 0.7
    assert "a number is read from text that was made of a Tensor" in done.stderr


def test_the_first_gradient_of_a_process_loads_no_module_that_reads_text():
    code = "import sys, arraygrad as ag\nag.grad(lambda x: x * x)(0.7)\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"plistlib", "tomllib", "csv", "decimal", "fractions", "pandas"} & set(loaded)
