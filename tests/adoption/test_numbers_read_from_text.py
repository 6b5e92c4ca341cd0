"""Numbers that are read from text that was made of a Tensor: each reader, each text, each way to name them."""

import ast
import decimal
import fractions
import io
import json
import math
import tomllib
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


TEXTS = {
    "str": lambda x: str(x),
    "float": lambda x: str(float(x)),
    "repr": lambda x: repr(float(x)),
    "format": lambda x: f"{x:.17g}",
    "rounded": lambda x: f"{math.sin(x):.3f}",
    "old": lambda x: "{:e}".format(x * 3.0),  # noqa: UP032
    "array2string": lambda x: np.array2string(np.array([x, 2.0 * x]), precision=12)[1:-1].split()[0],
    "thousands": lambda x: f"{x * 12345.6:,.3f}".replace(",", ""),
}


def _in_function(text):
    import json as inner

    return inner.loads(text)


READERS = {
    "json.loads": lambda text: json.loads(text),
    "json.loads of a document": lambda text: json.loads('{"kept": [1, ' + text + "]}")["kept"][1],
    "json.load": lambda text: json.load(io.StringIO(text)),
    "import in a function": _in_function,
    "eval": lambda text: eval(text),
    "eval of a formula's part": lambda text: eval(f"[{text}, 2.0]")[0],
    "ast.literal_eval": lambda text: ast.literal_eval(text),
    "literal_eval by its name": lambda text: literal_eval(f"({text}, 'a')")[0],
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
