"""Names that code writes arrays through, as the instructions tell them: kinds of writes, and ways of an array to them.

What is only read is not among them. Code is compiled here, so that each Python version's instructions are looked at.
"""

from __future__ import annotations

import types

import pytest

from arraygrad.adoption.written import parameter, written

# The body of f(self, x, ...) -> what it writes, of the names u, v, w, z, TABLE, rows, d, pos, X that are asked for.
BODIES = {
    "self.u[0] = x * self.w[1]": "u",
    "self.u[1:-1] = x": "u",
    "self.u[i, j] = x": "u",
    "self.u[self.w > 1] = self.z[self.w > 1]": "u",
    "self.u[0] += x": "u",
    "self.u[1:3] *= x + self.w[1:3]": "u",
    "self.u += x * self.w": "u",
    "self.u @= self.w": "u",
    "TABLE[0] = x * X[0]": "TABLE",
    "TABLE[1:] += X[1:]": "TABLE",
    "self.d['u'][0] = x": "d",
    "self.rows[i][j] = x": "rows",
    "self.p.q.u[0] = self.p.w[0]": "u",
    "np.add(x, self.w, out=self.u)": "u",
    "np.add(self.w, x, out=(self.u,))": "u",
    "np.add(x, self.w, self.u)": "u",
    "np.negative(self.w, self.u)": "u",
    "np.dot(self.w, x, self.u)": "u",
    "np.clip(self.w, 0.0, x, out=self.u)": "u",
    "np.copyto(self.u, self.w)": "u",
    "np.add.at(self.u, self.w, x)": "u",
    "np.fill_diagonal(self.u, self.w)": "u",
    "np.put(self.u, [0], self.w)": "u",
    "self.u.fill(x)": "u",
    "self.u.sort()": "u",
    "self.u.T[0] = x": "u",
    "self.u.flat[0] = x": "u",
    "self.u.reshape(-1)[0] = x": "u",
    "np.asarray(self.u)[0] = self.w[0]": "u",
    "getattr(self, 'u')[0] = x": "u",
    "u = self.u; u[0] = x": "u",
    "u = self.u[1:]; u += self.w": "u",
    "u, v = self.u, self.w; u[0] = v[0]": "u",
    "a, b, c = self.w, self.u, self.z; b[0] = a[0] + c[0]": "u",
    "a, b, c, e = self.w, self.u, self.z, TABLE; b[0] = a[0]": "u",
    "a, b = self.rows; a[0] = x": "rows",
    "a = b = self.u; b[0] = x": "u",
    "a = b = self.u; a[0] = x": "u",
    "for row in self.rows: row[0] = x": "rows",
    "self.rows[0] = self.d['u']; self.rows[0][1] = x": "rows d",
    "self.rows[0] = self.d.get('u'); self.rows[0][1] = x": "rows d",
    "self.rows[0] = self.d['u']\n    for row in self.rows: row[1] = x": "rows d",
    "for i, row in enumerate(self.rows): row[i] = self.w[i]": "rows",
    "for a, b in zip(self.u, self.w): a[0] = x": "u w",
    "for p in self.parts: p.pos[0] += self.w[0]": "pos",
    "self.u[0], self.v[1] = x, self.w[0] * x": "u v",
    "self.buffer = TABLE; self.buffer[0] = x": "TABLE",
    "self.u[:] = self.w": "u",
    "self.u, self.v = self.v, self.u; self.u[0] = x": "u v",
    "self.d['k'] = self.u; self.d['k'][1:] = x": "d u",
    "self.d['k'], self.u = self.u, self.d['k']; self.u[1:] = x": "d u",
    "self.rows[0], self.rows[1] = self.u, self.v; self.rows[i][0] = x": "rows u v",
    "self.u[i if x > 0 else j] = x": "u",
    "self.u[i] = self.w[0] if x > 0 else self.z[0]": "u",
    "self.u[...] = 0.0 if x else 1.0": "u",
    "a = self.w.copy(); a[0] = x": "",
    "a = self.w + 1.0; a[0] = x": "",
    "a = np.zeros(3); a[0] = self.w[0] * TABLE[1]": "",
    "a = np.zeros_like(self.w); a[1:] = X[1:]": "",
    "a = [self.w.sum()]; a[0] = x": "",
    "return (self.u @ self.w + TABLE).sum()": "",
    "a = np.dot(self.w, TABLE); a += x": "",
    "self.count += 1": "",
    "write(self.u, self.w, x)": "u",
    "write(target=self.u, source=self.w, x=x)": "u",
    "self.method(self.u, self.w)": "u",
    "inner = lambda target: write(target, self.w, x); inner(self.u)": "u",
    "Writer(self.u, self.w).go(x)": "u",
    "self.shown[0] = x": "z",
    "self.found(self.u)[0] = x": "u",
    "step = self.choose(); step(self.u)": "u",
}
AROUND = """
def write(target, source, x):
    target[1:] = source[1:] * x

class Writer:
    def __init__(self, target, source):
        self.kept = target
        self.source = source
    def go(self, x):
        self.kept[0] = x * self.source[0]

class Other:
    @property
    def shown(self):
        return self.z
    def method(self, target, source):
        target[0] = source[0]
    def found(self, array):
        return array
    def never_called(self):
        self.w[0] = X[0] = TABLE[0] = self.u[0] = self.z[0] = 1.0

def f(self, x, i=0, j=0):
    {body}
"""
ASKED = frozenset("u v w z TABLE rows d pos X".split())


def codes_in(code):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from codes_in(constant)


@pytest.mark.parametrize("body", BODIES)
def test_names_of_written_arrays_are_told_and_those_of_read_ones_are_not(body):
    codes = list(codes_in(compile(AROUND.replace("{body}", body), "written", "exec")))
    f = next(code for code in codes if code.co_name == "f")
    found = written(codes, [f], {"Writer", "Other"})
    assert found & ASKED == frozenset(BODIES[body].split())


def test_a_parameter_that_is_written_is_told_by_its_function():
    (code,) = codes_in(compile("def f(x, u, *, v, w): u[0] = v[:] = w[0]", "written", "exec"))
    found = written([code], [code])
    assert {parameter(code, "u"), parameter(code, "v")} <= found
    assert parameter(code, "w") not in found


def test_variables_of_closures_are_told_by_their_names():
    source = """
def outer(x):
    u, w = make(), make()
    def inner():
        u[0] = x * w[0]
    inner()
"""
    codes = list(codes_in(compile(source, "written", "exec")))
    found = written(codes, [codes[0]])
    assert "u" in found
    assert "w" not in found
