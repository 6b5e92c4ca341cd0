# ruff: noqa: E501 -- a row of the table is one program
"""Ways by which a number leaves and comes back: bytes, text, containers, other modules, sets, clocks, generators.

Each program is held to differences of the plain call: it is right, told by a warning, or refused, and never silently
another one. What is right stays right.
"""

import linecache
import sys
import warnings

import pytest

import arraygrad as ag

SETUP = """
import argparse, array, ast, base64, bisect, cmath, codecs, collections, colorsys, configparser, contextlib, contextvars, copy
import csv, ctypes, dataclasses, datetime, decimal, enum, fractions, functools, heapq, io, itertools, json, locale, logging
import marshal, math, mmap, multiprocessing, numbers, operator, pickle, plistlib, pprint, queue, random, re, shlex, sqlite3
import statistics, string, struct, tempfile, textwrap, time, types, urllib.parse, weakref
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
import numpy as np
"""
X, EQUAL = 0.7371234, 0.7  # where sets are asked, x is equal to a number that is written there

# What is expected, name, the body of a function of x.
ROWS = [
    ("right", "decimal quantize", "return x * float(decimal.Decimal(repr(x)).quantize(decimal.Decimal('0.0001')))"),
    ("right", "deepcopy", "return x * copy.deepcopy([x])[0]"),
    ("right", "copy copy", "return x * copy.copy(x)"),
    ("right", "queue it", "q = queue.Queue()\nq.put(x)\nreturn x * q.get()"),
    ("right", "contextvar", "c = contextvars.ContextVar('c')\nc.set(x)\nreturn x * c.get()"),
    ("right", "frexp", "m, e = math.frexp(x)\nreturn x * m * 2 ** e"),
    ("right", "ldexp", "return x * math.ldexp(x, 3)"),
    ("right", "modf", "f, w = math.modf(x * 5)\nreturn x * f"),
    ("right", "np frexp", "m, e = np.frexp(x)\nreturn x * m * 2.0 ** e"),
    ("right", "np modf", "return x * np.modf(x * 5)[0]"),
    ("right", "divmod it", "q, r = divmod(x * 5, 1.0)\nreturn x * r"),
    ("right", "fmod", "return x * math.fmod(x * 5, 1.0)"),
    ("right", "remainder", "return x * math.remainder(x * 5, 2.0)"),
    ("right", "random uniform", "random.seed(1)\nreturn x * random.uniform(0, x)"),
    ("right", "random gauss", "return x * random.Random(3).gauss(x, 1.0)"),
    ("right", "is it", "y = x\nreturn x * x if y is x else x"),
    ("right", "id it", "d = {id(x): x}\nreturn x * d[id(x)]"),
    ("right", "statistics fmean", "return x * statistics.fmean([x, 2 * x])"),
    ("right", "statistics median", "return x * statistics.median([x, 2 * x, 3.0])"),
    ("right", "statistics normal", "return x * statistics.NormalDist(x, 1.0).cdf(1.0)"),
    ("right", "statistics linreg", "return x * statistics.linear_regression([1.0, 2.0, 3.0], [x, 2 * x, 5.0]).slope"),
    ("right", "range sum", "return x * sum((1 for _ in range(int(x * 1000)))) / 1000"),
    ("right", "count loop", "n = 0\nwhile n * 0.001 < x:\n    n += 1\nreturn x * n * 0.001"),
    ("right", "repeat list", "return x * len([0] * int(x * 10000.0)) / 10000.0"),
    ("right", "searchsorted table", "t = np.arange(0, 2, 0.001)\nreturn x * t[np.searchsorted(t, x)]"),
    ("right", "bisect table", "t = [i * 0.001 for i in range(2000)]\nreturn x * t[bisect.bisect(t, x)]"),
    ("right", "heap key", "h = []\nheapq.heappush(h, (x, 'a'))\nheapq.heappush(h, (2.0, 'b'))\nreturn x * heapq.heappop(h)[0]"),
    ("right", "sorted key", "return x * sorted([3.0, x, 1.0], key=float)[0]"),
    ("right", "max key", "return x * max({'a': x, 'b': 0.1}.items(), key=lambda p: p[1])[1]"),
    ("right", "weak cache", "class V:\n    pass\nv = V()\nv.x = x\nw = weakref.WeakValueDictionary()\nw['a'] = v\nreturn x * w['a'].x"),
    ("right", "np packbits", "return x * float(np.packbits(np.unpackbits(np.array([int(x * 200)], np.uint8)))[0]) / 200"),
    ("right", "np histogram", "return x * np.histogram([x], bins=10, range=(0, 1))[1][np.digitize(x, np.linspace(0, 1, 11))]"),
    ("right", "np float from obj", "class V:\n\n    def __float__(self):\n        return x\nreturn x * float(V())"),
    ("right", "np index obj", "class V:\n\n    def __index__(self):\n        return int(x * 10)\nreturn x * operator.index(V())"),
    ("right", "pd series of", "return x * pd.Series([x])[0]"),
    ("right", "pd query", "return x * len(pd.DataFrame({'v': [0.1, 0.9]}).query(f'v > {x}'))"),
    ("right", "exponent", "return x * 10 ** math.floor(math.log10(x))"),
    ("right", "enum value", "class E(enum.Enum):\n    v = x\nreturn x * E.v.value"),
    ("right", "namedtuple", "return x * collections.namedtuple('P', 'v')(x).v"),
    ("right", "simplens", "return x * types.SimpleNamespace(**{'v': x}).v"),
    ("right", "chainmap", "return x * collections.ChainMap({'v': x}, {})['v']"),
    ("right", "deque", "return x * collections.deque([x, 1.0])[0]"),
    ("right", "ordered", "return x * list(collections.OrderedDict([('a', x)]).values())[0]"),
    ("right", "accumulate", "return x * list(itertools.accumulate([x, x]))[1]"),
    ("right", "reduce", "return x * functools.reduce(operator.mul, [x, x, 2.0])"),
    ("right", "colors", "return x * colorsys.rgb_to_hsv(x, 0.2, 0.3)[0]"),
    ("right", "sum fsum", "return x * math.fsum([x, 0.1])"),
    ("right", "hypot", "return x * math.hypot(x, 2.0)"),
    ("right", "comb", "return x * math.comb(int(x * 10), 2)"),
    ("right", "gcd", "return x * math.gcd(int(x * 100), 10)"),
    ("right", "isqrt", "return x * math.isqrt(int(x * 10000)) / 100"),
    ("right", "pow3", "return pow(x, 3)"),
    ("right", "polar", "return x * cmath.polar(complex(x, 1.0))[0]"),
    ("right", "phase", "return x * cmath.phase(complex(x, 1.0))"),
    ("right", "mean quantiles", "return x * statistics.quantiles([x, 2.0, 3.0, 4.0])[0]"),
    ("right", "correlation", "return x * statistics.correlation([x, 2.0, 3.0], [1.0, 2.0, 4.0])"),
    ("right", "choice", "return x * random.Random(1).choice([x, 2.0, 3.0])"),
    ("right", "shuffle", "v = [x, 2.0, 3.0]\nrandom.Random(1).shuffle(v)\nreturn x * v[0]"),
    ("right", "sample", "return x * random.Random(1).sample([x, 2.0, 3.0], 2)[0]"),
    ("right", "expovariate", "return x * random.Random(1).expovariate(x)"),
    ("right", "exception arg", "try:\n    raise KeyError(x)\nexcept KeyError as e:\n    return x * e.args[0]"),
    ("right", "generator send", "def g():\n    v = (yield 0.0)\n    yield (v * v)\ni = g()\nnext(i)\nreturn x * i.send(x)"),
    ("right", "property", "class C:\n\n    @property\n    def v(self):\n        return x * x\nreturn x * C().v"),
    ("right", "descriptor", "class D:\n\n    def __get__(self, o, t):\n        return o._v\n\n    def __set__(self, o, v):\n        o._v = float(v)\nclass C:\n    v = D()\nc = C()\nc.v = x\nreturn x * c.v"),
    ("right", "slots", "class C:\n    __slots__ = ('v',)\nc = C()\nc.v = x\nreturn x * c.v"),
    ("right", "closure list", "r = []\ndef g(v):\n    r.append(v * v)\ng(x)\nreturn x * r[0]"),
    ("right", "global write", "global _G\n_G = x * x\nreturn x * _G"),
    ("right", "contextlib", "@contextlib.contextmanager\ndef g():\n    yield (x * x)\nwith g() as v:\n    return x * v"),
    ("right", "timeit", "t = time.time() * 0.0\nreturn x * (x + t)"),
    ("right", "cached property", "class C:\n\n    @functools.cached_property\n    def v(self):\n        return x * x\nreturn x * C().v"),
    ("right", "partialmethod", "class C:\n\n    def m(self, p, q):\n        return p * q\n    n = functools.partialmethod(m, 2.0)\nreturn x * C().n(x)"),
    ("right", "singledispatch", "@functools.singledispatch\ndef g(v):\n    return 1.0\n@g.register(float)\ndef _(v):\n    return v * v\nreturn x * g(x)"),
    ("right", "match", "match x:\n    case float():\n        return x * x\n    case _:\n        return 0.0"),
    ("right", "numbers real", "return x * x if isinstance(x, numbers.Real) else x"),
    ("right", "bool ctx", "return x * (x and 2.0) * (not x or 3.0)"),
    ("right", "chained", "return x * (1.0 if 0.5 < x < 1.0 else 2.0)"),
    ("right", "sorted tuple", "return x * sorted([(x, 1), (0.5, 2)])[1][0]"),
    ("right", "array typecode", "return x * sum(array.array('d', [2.0, 3.0]))"),
    ("right", "setflags", "v = np.array([x])\nv.flags.writeable = False\nreturn x * v[0]"),
    ("right", "np copy subok", "return x * np.copy(np.array([x]))[0]"),
    ("right", "np flat", "v = np.zeros(3)\nv.flat[1] = x\nreturn x * v[1]"),
    ("right", "np put", "v = np.zeros(3)\nnp.put(v, [0], x)\nreturn x * v[0]"),
    ("right", "np itemset", "v = np.zeros(3)\nv.itemset(0, x) if hasattr(v, 'itemset') else v.__setitem__(0, x)\nreturn x * v[0]"),
    ("right", "np setfield", "v = np.zeros(3)\nv.setfield(x, float)\nreturn x * v[0]"),
    ("right", "np fill", "v = np.zeros(3)\nv.fill(x)\nreturn x * v[0]"),
    ("warned", "exec text", "ns = {}\nexec(f'v = {float(x)!r}', ns)\nreturn x * ns['v']"),
    ("warned", "exec local", "exec('k = %s' % str(x))\nreturn x * float(str(x)) if False else x * locals()['k']"),
    ("warned", "exec compiled", "ns = {}\nexec(compile(f'v = {x}*2', 's', 'exec'), ns)\nreturn x * ns['v']"),
    ("warned", "eval compiled", "return x * eval(compile(f'{x}', 's', 'eval'))"),
    ("warned", "configparser getfloat", "c = configparser.ConfigParser()\nc['a'] = {'v': str(x)}\nreturn x * c.getfloat('a', 'v')"),
    ("warned", "configparser section", "c = configparser.ConfigParser()\nc.read_string(f'[a]\\nv={x}')\nreturn x * c['a'].getfloat('v')"),
    ("warned", "csv nonnumeric", "return x * next(csv.reader(io.StringIO(f'{x},2'), quoting=csv.QUOTE_NONNUMERIC))[0]"),
    ("warned", "csv dict", "return x * float(next(csv.DictReader(io.StringIO(f'v\\n{x}\\n')))['v'])"),
    ("warned", "csv dict nonnumeric", "return x * next(csv.DictReader(io.StringIO(f'\"v\"\\n{x}\\n'), quoting=csv.QUOTE_NONNUMERIC))['v']"),
    ("warned", "create decimal", "return x * float(decimal.getcontext().create_decimal(str(x)))"),
    ("warned", "context create", "return x * float(decimal.Context(prec=5).create_decimal(f'{x:.12f}'))"),
    ("warned", "astype list", "return x * np.array([str(x), str(x)]).astype(float)[0]"),
    ("warned", "astype bytes", "return x * np.array([str(x).encode()]).astype(np.float64)[0]"),
    ("warned", "array of text array", "return x * np.array(np.array([str(x)]), dtype=float)[0]"),
    ("warned", "asarray of text array", "w = np.array([str(x)])\nreturn x * np.asarray(w, float)[0]"),
    ("warned", "np float64 of text", "return x * np.float64(str(x))"),
    ("warned", "fromiter text", "return x * np.fromiter((float(w) for w in f'{x} {x}'.split()), float)[0]"),
    ("warned", "map float", "return x * sum(map(float, f'{x} {x}'.split()))"),
    ("warned", "fromstring bytes", "return x * np.fromstring(f'{x},{x}'.encode().decode(), sep=',')[0]"),
    ("warned", "float concat", "s = str(x)\nreturn x * float(s[:3] + s[3:])"),
    ("warned", "percent format", "return x * float('%s' % x)"),
    ("warned", "percent r", "return x * float('%r' % (x,))"),
    ("warned", "percent f", "return x * float('%.10f' % x)"),
    ("warned", "format map", "return x * float('{v}'.format_map({'v': x}))"),
    ("warned", "template", "return x * float(string.Template('$v').substitute(v=x))"),
    ("warned", "locale string", "return x * locale.atof(locale.format_string('%.10f', x))"),
    ("warned", "locale atof str", "return x * locale.atof(str(x))"),
    ("warned", "re sub", "return x * float(re.sub('a', str(x), 'a'))"),
    ("warned", "re findall json", "return x * float(re.findall('[\\\\d.]+', f'v={x};')[0])"),
    ("warned", "pandas read csv", "return x * pd.read_csv(io.StringIO(f'v\\n{x}\\n'))['v'].iloc[0]"),
    ("warned", "pandas to numeric", "return x * pd.to_numeric(pd.Series([str(x)])).iloc[0]"),
    ("warned", "pandas series astype", "return x * pd.Series([str(x), '2']).astype(float).iloc[0]"),
    ("warned", "pandas frame astype", "return x * pd.DataFrame({'v': [f'{x}']}).astype({'v': float})['v'].to_numpy()[0]"),
    ("warned", "pandas str roundtrip", "s = pd.Series([float(x)])\nreturn x * s.astype(str).astype(float)[0]"),
    ("warned", "pandas json", "return x * pd.read_json(io.StringIO(f'[{{\"v\": {x}}}]'))['v'][0]"),
    ("warned", "pandas to csv", "b = io.StringIO()\npd.DataFrame({'v': [x]}).to_csv(b)\nb.seek(0)\nreturn x * pd.read_csv(b)['v'][0]"),
    ("warned", "loadtxt converters", "return x * np.loadtxt(io.StringIO(f'{x}'), converters=float)[()]"),
    ("warned", "logging roundtrip", "b = io.StringIO()\nlog = logging.getLogger('hostile')\nh = logging.StreamHandler(b)\nlog.addHandler(h)\nlog.propagate = False\nlog.warning('%.12f', x)\nlog.removeHandler(h)\nreturn x * float(b.getvalue())"),
    ("warned", "logging s", "b = io.StringIO()\nlog = logging.getLogger('hostile')\nh = logging.StreamHandler(b)\nlog.addHandler(h)\nlog.propagate = False\nlog.warning('v=%s', x)\nlog.removeHandler(h)\nreturn x * float(b.getvalue().split('=')[1])"),
    ("warned", "print to", "b = io.StringIO()\nprint(x, file=b)\nreturn x * float(b.getvalue())"),
    ("warned", "file text", "with tempfile.TemporaryFile('w+') as h:\n    h.write(f'{x}')\n    h.seek(0)\n    return x * float(h.read())"),
    ("warned", "file fromfile text", "with tempfile.NamedTemporaryFile('w') as h:\n    h.write(f'{x} {x}')\n    h.flush()\n    return x * np.fromfile(h.name, sep=' ')[0]"),
    ("warned", "argparse float", "p = argparse.ArgumentParser()\np.add_argument('--v', type=float)\nreturn x * p.parse_args(['--v', str(x)]).v"),
    ("warned", "xml text", "return x * float(ET.fromstring(f\"<a v='{x}'/>\").get('v'))"),
    ("warned", "plist text", "return x * plistlib.loads(f\"<?xml version='1.0'?><plist version='1.0'><real>{x}</real></plist>\".encode())"),
    ("warned", "sqlite text", "c = sqlite3.connect(':memory:')\nreturn x * c.execute(f'select {x}').fetchone()[0]"),
    ("warned", "sqlite cast", "c = sqlite3.connect(':memory:')\nreturn x * c.execute('select cast(? as real)', (str(x),)).fetchone()[0]"),
    ("warned", "shlex split", "return x * float(shlex.split(f'a {x}')[1])"),
    ("warned", "url", "return x * float(urllib.parse.parse_qs(urllib.parse.urlencode({'v': x}))['v'][0])"),
    ("warned", "pprint it", "return x * ast.literal_eval(pprint.pformat([x]))[0]"),
    ("warned", "textwrap it", "return x * float(textwrap.dedent(f'  {x}'))"),
    ("warned", "codec text", "return x * float(codecs.decode(codecs.encode(str(x), 'rot13'), 'rot13'))"),
    ("warned", "translate text", "return x * float(str(x).translate({ord('7'): '8'}).replace('8', '7'))"),
    ("warned", "reversed text", "return x * float(str(x)[::-1][::-1])"),
    ("warned", "chars text", "return x * float(''.join([c for c in str(x)]))"),
    ("warned", "json parse float", "return x * json.loads(f'[{x}]', parse_float=decimal.Decimal)[0].__float__()"),
    ("warned", "json decoder", "return x * json.JSONDecoder().decode(f'[{x}]')[0]"),
    ("warned", "json raw", "return x * json.JSONDecoder().raw_decode(f'{x}')[0]"),
    ("warned", "json default str", "return x * float(json.loads(json.dumps([x], default=str))[0])"),
    ("warned", "repr list", "return x * ast.literal_eval(repr([x, x]))[0]"),
    ("warned", "repr dataclass", "@dataclasses.dataclass\nclass P:\n    v: float\nreturn x * float(re.search('v=([\\\\d.]+)', repr(P(x))).group(1))"),
    ("warned", "error text", "try:\n    raise ValueError(x)\nexcept ValueError as e:\n    return x * float(str(e))"),
    ("warned", "fstring eq", "return x * float(f'x={x!r}'.split('=')[1])"),
    ("warned", "format e", "return x * float(f'{x:e}')"),
    ("warned", "format percent", "return x * float(f'{x:.10%}'[:-1]) / 100"),
    ("warned", "format builtin", "return x * float(format(x, '.9g'))"),
    ("warned", "format join", "return x * float(','.join([str(v) for v in [x, x]]).split(',')[0])"),
    ("warned", "int scaled", "return x * (int(x * 1000000.0) / 1000000.0)"),
    ("warned", "round digits", "return x * round(x, 6)"),
    ("warned", "floor scaled", "return x * math.floor(x * 1000000.0) / 1000000.0"),
    ("warned", "set two", "return x * sum({x, 0.7})"),
    ("warned", "set len", "return x * len({x, 0.7})"),
    ("warned", "set in", "s = {0.7, 2.0}\nreturn x * (2.0 if x in s else 3.0)"),
    ("warned", "set union", "return x * len({0.7} | {x})"),
    ("warned", "set of list", "return x * len(set([x, 0.7]))"),
    ("warned", "frozenset of", "return x * len(frozenset([0.7, x]))"),
    ("warned", "dict key plain", "d = {0.7: 5.0}\nd[x] = 6.0\nreturn x * len(d)"),
    ("warned", "dict get", "d = {0.7: 5.0}\nreturn x * d.get(x, 1.0)"),
    ("warned", "counter", "return x * collections.Counter([x, 0.7])[0.7]"),
    ("warned", "list count", "return x * [0.7, 0.7, 0.1].count(x)"),
    ("warned", "groupby", "return x * sum((1 for _ in itertools.groupby([x, 0.7, 0.8])))"),
    ("warned", "dict fromkeys", "return x * len(dict.fromkeys([x, 0.7]))"),
    ("warned", "setdefault", "d = {0.7: 5.0}\nreturn x * d.setdefault(x, 1.0)"),
    ("warned", "np vectorize str", "return x * np.vectorize(str)(np.array([x, x])).astype(float)[0]"),
    ("warned", "np genfromtxt list", "return x * np.genfromtxt([f'{x} 2'])[0]"),
    ("warned", "np fromregex", "return x * np.fromregex(io.StringIO(f'v={x}\\n'), 'v=([\\\\d.]+)', [('v', float)])['v'][0]"),
    ("warned", "np recfromtxt", "return x * np.genfromtxt(io.StringIO(f'{x},2'), delimiter=',', names='a,b')['a']"),
    ("warned", "np float32 text", "return x * np.float32(str(x))"),
    ("warned", "np complex text", "return x * np.complex128(str(x)).real"),
    ("warned", "np asarray list text", "return x * np.asarray([f'{x}'], dtype=float)[0]"),
    ("warned", "np array bytes", "return x * np.array([f'{x}'.encode()], dtype=float)[0]"),
    ("warned", "np full text", "return x * np.full(2, str(x)).astype(float)[0]"),
    ("warned", "np tolist join", "return x * np.fromstring(' '.join(map(str, np.array([x, x]).tolist())), sep=' ')[0]"),
    ("warned", "fmt nested", "return x * float(f'{x:{12}.{9}f}')"),
    ("warned", "fmt star", "return x * float('%*.*f' % (14, 9, x))"),
    ("warned", "fmt dict", "return x * float('%(v).9f' % {'v': x})"),
    ("warned", "fmt attr", "return x * float('{0.real}'.format(x))"),
    ("warned", "fmt item", "return x * float('{0[0]}'.format([x]))"),
    ("warned", "fmt conv", "return x * float('{!s}'.format(x))"),
    ("warned", "fmt formatter", "return x * float(string.Formatter().format('{:.9f}', x))"),
    ("warned", "fmt dunder", "return x * float(x.__format__('.9f'))"),
    ("warned", "str dunder", "return x * float(x.__str__())"),
    ("warned", "str center", "return x * float(str(x).center(30))"),
    ("warned", "str partition", "return x * float(('v=' + str(x)).partition('=')[2])"),
    ("warned", "str zfill", "return x * float(f'{x:.6f}'.zfill(20))"),
    ("warned", "str join csv", "rows = list(csv.reader(io.StringIO(f'{x},{x}')))\nreturn x * sum((float(v) for v in rows[0]))"),
    ("warned", "sqlite insert", "c = sqlite3.connect(':memory:')\nc.execute('create table t (v real)')\nc.execute('insert into t values (?)', (str(x),))\nreturn x * [r[0] for r in c.execute('select v from t')][0]"),
    ("warned", "sqlite cursor", "c = sqlite3.connect(':memory:').cursor()\nc.execute('create table t (v real)')\nc.execute(f'insert into t values ({x})')\nc.execute('select v from t')\nreturn x * c.fetchone()[0]"),
    ("warned", "pd map float", "return x * pd.Series([str(x)]).map(float)[0]"),
    ("warned", "pd apply", "return x * pd.DataFrame({'v': [str(x)]}).apply(pd.to_numeric)['v'][0]"),
    ("warned", "pd convert", "return x * pd.Series([str(x)]).astype('float64').values[0]"),
    ("warned", "pd records", "return x * pd.DataFrame([{'v': f'{x}'}])['v'].astype(float).sum()"),
    ("warned", "pd frame eval", "return x * pd.DataFrame({'v': [2.0]}).eval(f'v * {x}')[0]"),
    ("warned", "decimal ops", "return x * float(decimal.Decimal(f'{x:.9f}') * 2 + 1)"),
    ("warned", "fraction text", "return x * float(fractions.Fraction(str(x)))"),
    ("refused", "decimal from float", "return x * float(decimal.Decimal.from_float(float(x)))"),
    ("refused", "decimal tuple", "return x * float(decimal.Decimal(x.as_integer_ratio()[0]) / decimal.Decimal(x.as_integer_ratio()[1]))"),
    ("refused", "astype str back", "v = np.array([x, 2 * x])\nreturn x * np.sum(v.astype(str).astype(float))"),
    ("refused", "char mod", "return x * float(np.char.mod('%.12f', np.array([x]))[0])"),
    ("refused", "savetxt loadtxt", "b = io.StringIO()\nnp.savetxt(b, np.array([x, x]))\nb.seek(0)\nreturn x * np.loadtxt(b)[0]"),
    ("refused", "plist", "return x * plistlib.loads(plistlib.dumps({'v': float(x)}))['v']"),
    ("refused", "sqlite param", "c = sqlite3.connect(':memory:')\nreturn x * c.execute('select ?', (x,)).fetchone()[0]"),
    ("refused", "json encoder default", "return x * json.loads(json.dumps([x], default=float))[0]"),
    ("refused", "complex repr", "z = complex(x, 1.0)\nreturn x * complex(repr(z)).real"),
    ("refused", "float hex", "return x * float.fromhex(x.hex())"),
    ("refused", "float hex class", "return x * float.fromhex(float.hex(x))"),
    ("refused", "format positional", "return x * float(np.format_float_positional(x))"),
    ("refused", "np array repr", "return x * eval(np.array_repr(np.array([x])), {'array': np.array})[0]"),
    ("refused", "struct pack", "return x * struct.unpack('d', struct.pack('d', x))[0]"),
    ("refused", "struct object", "s = struct.Struct('<d')\nreturn x * s.unpack(s.pack(x))[0]"),
    ("refused", "struct into", "b = bytearray(8)\nstruct.pack_into('d', b, 0, x)\nreturn x * struct.unpack_from('d', b)[0]"),
    ("refused", "ctypes double", "return x * ctypes.c_double(x).value"),
    ("refused", "ctypes array", "return x * (ctypes.c_double * 2)(x, x)[0]"),
    ("refused", "ctypes struct", "class S(ctypes.Structure):\n    _fields_ = [('v', ctypes.c_double)]\ns = S()\ns.v = x\nreturn x * s.v"),
    ("refused", "array array", "return x * array.array('d', [x])[0]"),
    ("refused", "array append", "q = array.array('d')\nq.append(x)\nreturn x * q[0]"),
    ("refused", "memoryview cast", "return x * memoryview(np.array([x])).cast('B').cast('d')[0]"),
    ("refused", "tobytes", "return x * np.frombuffer(np.array([x]).tobytes())[0]"),
    ("refused", "view int", "v = np.array([x])\nreturn x * v.view(np.int64).view(float)[0]"),
    ("refused", "int from bytes", "return x * np.int64(int.from_bytes(np.array([x]).tobytes(), 'little')).view(float)"),
    ("refused", "save load", "b = io.BytesIO()\nnp.save(b, np.array([x]))\nb.seek(0)\nreturn x * np.load(b)[0]"),
    ("refused", "savez load", "b = io.BytesIO()\nnp.savez(b, v=np.array([x]))\nb.seek(0)\nreturn x * np.load(b)['v'][0]"),
    ("refused", "pickle roundtrip", "return x * pickle.loads(pickle.dumps(x))"),
    ("refused", "marshal it", "return x * marshal.loads(marshal.dumps(float(x)))"),
    ("refused", "mmap it", "m = mmap.mmap(-1, 8)\nm[:] = struct.pack('d', float(x))\nreturn x * struct.unpack('d', m[:])[0]"),
    ("refused", "multiprocessing value", "import multiprocessing\nreturn x * multiprocessing.Value('d', x).value"),
    ("refused", "multiprocessing array", "import multiprocessing\nq = multiprocessing.Array('d', 2)\nq[0] = x\nreturn x * q[0]"),
    ("refused", "thread result", "with ThreadPoolExecutor(1) as e:\n    return x * e.submit(lambda: math.sin(x)).result()"),
    ("refused", "nextafter", "return x * math.nextafter(x, 10.0)"),
    ("refused", "ulp", "return x + math.ulp(x)"),
    ("refused", "limit denominator", "return x * float(fractions.Fraction(x).limit_denominator(10 ** 6))"),
    ("refused", "fraction from float", "return x * float(fractions.Fraction.from_float(x))"),
    ("refused", "integer ratio", "n, d = x.as_integer_ratio()\nreturn x * n / d"),
    ("refused", "timedelta", "return x * datetime.timedelta(seconds=x).total_seconds()"),
    ("refused", "timestamp", "return x * datetime.datetime.fromtimestamp(x * 100000.0).timestamp()"),
    ("refused", "random seed", "random.seed(x)\nreturn x * random.random()"),
    ("refused", "statistics mean", "return x * statistics.mean([x, 2 * x])"),
    ("refused", "round key", "return x * {round(x, 6): 2.0}[round(x, 6)]"),
    ("refused", "np object astype", "return x * np.array([x, x], dtype=object).astype(str).astype(float)[0]"),
    ("refused", "np savetxt list", "b = io.StringIO()\nnp.savetxt(b, [x, x])\nb.seek(0)\nreturn x * np.loadtxt(b)[0]"),
    ("refused", "np savetxt tolist", "b = io.StringIO()\nnp.savetxt(b, np.array([x, x]).tolist())\nb.seek(0)\nreturn x * np.loadtxt(b)[0]"),
    ("refused", "np memmap", "with tempfile.NamedTemporaryFile() as h:\n    m = np.memmap(h.name, float, 'w+', shape=(2,))\n    m[0] = x\n    return x * m[0]"),
    ("refused", "np structured", "s = np.zeros(1, [('v', float)])\ns['v'] = x\nreturn x * s['v'][0]"),
    ("refused", "np void", "return x * np.array([(x,)], [('v', float)])['v'][0]"),
    ("refused", "np rec", "return x * np.rec.fromrecords([(x, 1)], names='v,w').v[0]"),
    ("refused", "np int view", "return x * np.array([x]).view('i8').view('f8')[0]"),
    ("refused", "str method of class", "return x * float(float.__repr__(x))"),
    ("refused", "stdev", "return x * statistics.pstdev([x, 2.0, 3.0])"),
    ("refused", "triangular", "return x * random.Random(1).triangular(0, 1, x)"),
    ("refused", "betavariate", "return x * random.Random(1).betavariate(x, 2.0)"),
    ("refused", "buffer write", "v = np.zeros(2)\nmemoryview(v)[0] = x\nreturn x * v[0]"),
    ("refused", "np nditer", "v = np.array([x, 2.0])\ns = 0.0\nfor e in np.nditer(v):\n    s = s + e\nreturn x * s"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _forget():
    yield
    ag.adopt.clear()


def program(name, body):
    file = f"leaves_{name.replace(' ', '_')}.py"
    text = SETUP + ("import pandas as pd\n" if "pd." in body else "") + "def f(x):\n"
    text += "".join(f"    {line}\n" for line in body.splitlines())
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names = {"__name__": "leaves"}
    exec(compile(text, file, "exec"), names)
    return names["f"], file


if sys.version_info >= (3, 13):
    ROWS = [row for row in ROWS if row[1] != "exec local"]  # a function's locals() is a copy from then on (PEP 667)


def test_rows_are_many_and_each_has_its_name():
    assert len({name for _, name, _ in ROWS}) == len(ROWS) >= 200


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*unclosed database")  # programs that close no connection
@pytest.mark.parametrize(("expected", "name", "body"), ROWS, ids=[row[1] for row in ROWS])
def test_a_number_that_leaves_is_never_silently_lost(expected, name, body):
    if "pd." in body:
        pytest.importorskip("pandas")
    f, file = program(name, body)
    x = EQUAL if "0.7" in body else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, h = f(x), 1e-5
        slope = (f(x + h) - f(x - h)) / (2.0 * h)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        refused = None
        try:
            value, gradient = ag.value_and_grad(f)(x)
        except Exception as error:
            refused = error
    if refused is not None:
        assert expected == "refused", refused
        assert str(refused)
        return
    if value == pytest.approx(plain, rel=1e-12) and gradient == pytest.approx(slope, rel=1e-4, abs=1e-4):
        return
    assert expected != "right"
    assert any(issubclass(one.category, UserWarning) and file in str(one.message) for one in found)
