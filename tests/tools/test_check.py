"""`python -m arraygrad check`: each kind of report, with the line of the user's code, and the exit code."""

import functools
import sys

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.core.convert import set_conversion_notice
from arraygrad.tools import command_line as cli
from arraygrad.tools.check import examine
from arraygrad.tools.check_inputs import CannotCheck, load

MODEL = """
import math
import numpy as np; NUMBER = '5'

def loss(w, x):
    return np.mean(np.tanh(x @ w) ** 2)

def inputs(rng):
    return rng.normal(size=(3, 2)), rng.normal(size=(4, 3))

def keywords():
    return (np.ones(2),), {"power": 3}

def powers(x, power):
    return np.sum(x ** power)

def helper(x):
    return np.asarray(x)            # line 18

def unsupported(x):
    y = np.sin(x)
    return helper(y)

def lost(x):
    s = float(np.sum(x))            # line 25
    return np.sum(x**2) * math.exp(s)

def logged(x):
    value = np.sum(x**2)
    print(int(value))               # line 30
    return value

def no_graph(x):
    return float(np.sum(x * x))

def constant(x):
    return 3.0

def inner(y):
    return np.sqrt(y)               # line 40

def not_finite(x):
    y = inner(np.abs(x) * 0.0)
    return np.sum(y * x)

def promotes(x):
    y = x * 2.0
    return np.sum(y * np.ones(3))   # line 48

def fails(x):
    return x.nonsense               # line 51

def random(x):
    return x * np.random.rand()

def relu(x):
    return np.sum(np.where(x > 0.0, x, 0.0))

def modulus(z):
    return np.sum(np.abs(z) ** 2)

def several(p):
    return {"a": p["w"] * 2.0, "n": 3}, np.sin(p["b"])

def in_place(x):
    x *= 2.0
    return np.sum(x)

def infinite(x):
    return np.sum(1.0 / (x - x))

def words(x):
    return "result"

def nothing():
    return 1.0

large = lambda x: np.sum(np.sin(x) ** 2)

import arraygrad as ag

def detached(x):
    return x * (x.detach() if isinstance(x, ag.Tensor) else x)

def stopped(x):
    return x * ag.stop_gradient([x])[0]

def taken(x):
    if isinstance(x, ag.Tensor):
        s = x.array
        return x * s
    return x * x

def unrecorded(x):
    with ag.no_grad():
        s = np.sin(x)
    return x * s

@ag.no_grad()
def quietly(x):
    y = x * x
    return y

def decorated(x):
    return x * quietly(x)

def clean(x):
    return np.sum(np.stack([x, x])) if 5.0 not in x and x[0] > 0.0 else x

@ag.primitive
def softplus(x):
    return np.logaddexp(0.0, x)

softplus.defvjp(lambda ans, x: lambda g: g * np.exp(-ans))

class Tripled(ag.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.n = 2
        return x * ctx.n
    @staticmethod
    def backward(ctx, g):
        return g * 3

def by_wrong_rules(x):
    return np.sum(softplus(Tripled.apply(x) / 2) if isinstance(x, ag.Tensor) else np.logaddexp(0.0, x))

def exact(x):
    from decimal import Decimal
    return x * float(Decimal(x[0])) # line 130
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """The path of a module of the user's."""
    path = tmp_path / "users_model.py"
    path.write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield str(path)
    sys.modules.pop("users_model", None)


@pytest.fixture
def check(model):
    """The report on a function of the model for given arguments."""

    def report(name, *args, **options):
        function, package = load(f"{model}:{name}")
        return examine(function, args, package=package, **options)

    return report


@pytest.fixture
def command(model, capsys):
    """Exit code, output and error output of the command."""

    def run(target, *options):
        code = cli.main(["check", f"{model}:{target}", *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


X = np.array([0.3, -0.4, 0.5])


def test_right_gradient(check):
    report = check("loss", np.ones((3, 2)) * 0.3, np.arange(12.0).reshape(4, 3) * 0.1)
    assert (report.problems, report.notes) == ([], [])
    facts = dict(report.facts)
    assert facts["arguments"] == "w (3, 2) float64, x (4, 3) float64"
    assert "18 of 18 derivatives agree" in facts["gradient"]
    assert "ratio" in facts["time"]
    assert facts["recorded"].split()[0].isdigit()


def test_call_that_is_not_supported_has_its_line(check):
    (problem,) = check("unsupported", X, adopt=False).problems
    assert "recording stops at a call that is not supported at\nusers_model.py:18: return np.asarray(x)" in problem
    assert "numpy.asarray of a tensor" in problem


def test_gradient_lost_in_a_conversion_has_its_line(check):
    wrong, lost = check("lost", X, adopt=False).problems
    assert wrong.startswith("the gradient is wrong: x[")
    assert lost.startswith("float() makes a Python number of a value, which transforms such as grad refuse")
    assert "users_model.py:25: s = float(" in lost


@pytest.mark.parametrize(
    ("name", "what", "line"),
    [
        (
            "detached",
            "detach() takes a value out of the graph",
            "83: return x * (x.detach() if isinstance(x, ag.Tensor) else x)",
        ),
        ("stopped", "stop_gradient() takes a value out of the graph", "86: return x * ag.stop_gradient([x])[0]"),
        ("taken", ".array takes a value out of the graph", "90: s = x.array"),
        ("unrecorded", "what is computed without recording (no_grad) has no gradient, from here", "96: s = np.sin(x)"),
        ("decorated", "what is computed without recording (no_grad) has no gradient, from here", "101: y = x * x"),
    ],
)
def test_gradient_lost_on_purpose_has_its_line(check, name, what, line):
    wrong, lost = check(name, X).problems
    assert wrong.startswith("the gradient is wrong: x[")
    assert lost.startswith(what)
    assert lost.splitlines()[-1] == f"users_model.py:{line}"


def test_what_arraygrad_detaches_itself_is_not_told(check):
    report = check("clean", X)
    assert (report.problems, report.notes) == ([], [])


def test_the_largest_difference_is_told_where_the_gradient_is_wrong(check):
    found = dict(check("detached", X).facts)["gradient"]
    assert found.startswith("5.0e-01 largest relative difference")
    assert "(0 of 3 derivatives agree)" in found


def test_a_wrong_gradient_names_the_rules_of_the_users_own(check):
    (wrong,) = check("by_wrong_rules", X).problems
    assert wrong.splitlines()[1] == (
        "rules of your own in this graph: softplus (users_model.py:114), Tripled (users_model.py:121). Check each "
        "alone, as in arraygrad.gradcheck(softplus, [...])"
    )


WAY_OUT = "grad(f, adopt=True) keeps it; check it so with --adopt"


def test_a_function_is_checked_as_it_is_adopted(check, command):
    for options in ({}, {"adopt": True}):
        report = check("lost", X, **options)
        assert (report.problems, report.notes) == ([], [])
    for option in ([], ["--adopt"]):
        code, out, _ = command("lost", "--shapes", "3", *option)
        assert (code, "3 of 3 derivatives agree" in out) == (0, True)


def test_a_function_can_be_checked_without_adoption(check, command):
    assert WAY_OUT in check("lost", X, adopt=False).problems[1]
    code, out, _ = command("lost", "--shapes", "3", "--no-adopt")
    assert (code, WAY_OUT in out) == (1, True)


def test_check_follows_set_adoption(check, command):
    with ag.set_adoption(False):
        assert WAY_OUT in check("lost", X).problems[1]
        assert check("lost", X, adopt=True).problems == []
        assert command("lost", "--shapes", "3")[0] == 1
        assert command("lost", "--shapes", "3", "--adopt")[0] == 0


def test_a_call_that_adoption_refuses_has_its_line_and_no_advice_to_adopt(check):
    (problem,) = check("exact", X).problems
    assert "recording stops at a call that is not supported at\nusers_model.py:130: return x * float(Dec" in problem
    assert WAY_OUT not in problem


def test_conversion_that_loses_nothing_is_a_note(check, capsys):
    report = check("logged", X)
    assert report.problems == []
    (note,) = report.notes
    assert "int() takes a value out of the graph" in note
    assert "users_model.py:30" in note


def test_result_without_graph(check):
    problems = check("no_graph", X, adopt=False).problems
    assert any("the result has no graph" in problem for problem in problems)
    assert any("float() makes a Python number" in problem for problem in problems)


def test_constant_result_is_a_note(check):
    report = check("constant", X)
    assert report.problems == []
    assert "the result has no graph" in report.notes[0]


def test_gradient_that_is_not_finite_has_its_operation_and_line(check):
    (problem,) = check("not_finite", X).problems
    assert problem.startswith("the gradient of x is not finite: SqrtBackward makes it so")
    assert "users_model.py:40: return np.sqrt(y)" in problem


def test_change_of_precision_has_its_line(check):
    report = check("promotes", X.astype(np.float32))
    assert report.problems == []
    (note,) = report.notes
    assert "the precision changes from 32 to 64 bits" in note
    assert "users_model.py:48" in note


def test_function_that_fails_by_itself(check):
    (problem,) = check("fails", X).problems
    assert "the plain call of the function fails, with no part of arraygrad in it at\nusers_model.py:51" in problem


def test_function_that_draws_random_numbers(check):
    (problem,) = check("random", X).problems
    assert "two calls with equal arguments give different results" in problem


def test_kink_is_a_note(check):
    report = check("relu", np.array([0.0, 1.0]))
    assert report.problems == []
    assert report.notes[0].startswith("x[0] is at a kink: from the left the derivative is 0, from the right 1")


def test_complex_arguments(check):
    report = check("modulus", X + 1j)
    assert report.problems == []
    assert "6 of 6" in dict(report.facts)["gradient"]


def test_containers_in_and_out(check):
    report = check("several", {"w": X, "b": 0.5, "name": "layer"})
    assert report.problems == []
    assert dict(report.facts)["arguments"] == "p['w'] (3,) float64, p['b'] float64"


def test_argument_written_in_place_is_a_note_and_stays(check):
    x = X.copy()
    report = check("in_place", x)
    assert report.problems == []
    assert "x is written in place" in report.notes[0]
    np.testing.assert_array_equal(x, X)


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_result_that_is_not_finite(check):
    (problem,) = check("infinite", X).problems
    assert "the result is not finite for these inputs" in problem


def test_result_that_is_no_number(check):
    (problem,) = check("words", X).problems
    assert "returns no floating-point number or array (but str)" in problem


def test_large_argument_is_sampled(check):
    report = check("large", np.linspace(0.0, 1.0, 1000))
    assert report.problems == []
    assert "56 of 56" in dict(report.facts)["gradient"]


def test_float32_is_compared_with_differences_in_double(check):
    report = check("large", X.astype(np.float32))
    assert report.problems == []


def test_wrong_gradient_is_found():
    function = lambda x: (x * x.detach()).sum() if isinstance(x, ag.Tensor) else (x * x).sum()
    (problem, *_) = examine(function, (X,)).problems
    assert problem.startswith("the gradient is wrong: ")


def test_argnums_choose_what_is_differentiated(check):
    report = check("loss", np.ones((3, 2)) * 0.3, np.ones((4, 3)), argnums=(1,))
    assert dict(report.facts)["arguments"] == "x (4, 3) float64"


def wrapped(function):
    """A decorator."""

    @functools.wraps(function)
    def call(*args):
        return function(*args)

    return call


class Model:
    """An object that can be called."""

    def __call__(self, x):
        return np.asarray(x)  # mark


@pytest.mark.parametrize(
    "function",
    [Model(), Model().__call__, functools.partial(Model()), wrapped(Model.__call__.__get__(Model()))],
    ids=["object", "method", "partial", "decorated"],
)
def test_lines_of_whatever_can_be_called(function):
    (problem,) = examine(function, (X,), adopt=False).problems
    assert "return np.asarray(x)  # mark" in problem


# The command


def test_command_with_shapes(command):
    code, out, err = command("loss", "--shapes", "3x2", "4,3", "--range", "0", "1")
    assert (code, err) == (0, "")
    assert "w (3, 2) float64, x (4, 3) float64" in out
    assert out.endswith("  ok\n")


def test_command_with_a_function_that_makes_the_inputs(command):
    code, out, _ = command("loss", "--inputs", "inputs", "--seed", "1")
    assert (code, "w (3, 2)" in out) == (0, True)


def test_command_with_keyword_arguments(command):
    assert command("powers", "--inputs", "keywords")[0] == 0


def test_command_without_shapes_takes_scalars(command):
    code, out, _ = command("large", "--dtype", "float32")
    assert (code, "x float32" in out) == (0, True)


def test_command_fails_with_1(command):
    code, out, err = command("lost", "--shapes", "3", "--no-adopt")
    assert code == 1
    assert "PROBLEM" in out
    assert (err, out.splitlines()[-1]) == ("", "FAILED: 2 problems")


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("nosuch", [], "has no function nosuch"),
        ("nothing", [], "has no required parameter"),
        ("NUMBER", [], "is no function but str"),
        ("loss", ["--inputs", "nothing"], "must return a tuple"),
    ],
)
def test_command_that_cannot_check_ends_with_2(command, target, options, message):
    code, out, err = command(target, *options)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("target", "message"),
    [("loss", "expected MODULE:FUNCTION"), ("no_such_module:f", "no module"), ("no.py:f", "no file no.py")],
)
def test_target_that_does_not_exist(target, message):
    with pytest.raises(CannotCheck, match=message):
        load(target)


def test_shape_that_is_none_is_refused(model, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["check", f"{model}:loss", "--shapes", "three"])
    assert stopped.value.code == 2
    assert "expected a shape like 3x4, 5 or 0d, got 'three'" in capsys.readouterr().err


def test_tracing_is_as_before_afterwards(check):
    before = sys.gettrace()
    check("lost", X)
    assert sys.gettrace() is before
    assert set_conversion_notice(None) is None


def test_arguments_that_the_command_took_for_numbers_are_a_note_that_names_shapes(command):
    code, out, _ = command("loss")
    assert code == 1  # x @ w of two numbers
    assert "the plain call of the function fails" in out
    assert "each argument is a single number" in out
    assert "--shapes 3 100x3" in out
    code, out, _ = command("loss", "--shapes", "3", "100x3")
    assert code == 0
    assert "single number" not in out


def test_a_comma_between_the_shapes_of_two_arguments_is_told(model, capsys):
    with pytest.raises(SystemExit):
        cli.main(["check", f"{model}:loss", "--shapes", "3,100x3"])
    assert "--shapes 3 100x3" in capsys.readouterr().err


def test_a_profile_of_a_call_that_fails_names_the_shapes(model, capsys):
    assert cli.main(["profile", f"{model}:loss"]) == 2
    told = capsys.readouterr().err
    assert "a plain call of" in told
    assert "--shapes 3 100x3" in told
    assert cli.main(["profile", f"{model}:loss", "--shapes", "3", "100x3"]) == 0
