"""autograd.graph.trace(): what backward runs did, and the file that shows it."""

import json
import threading

import numpy as np
import pytest

import arraygrad as ag
from arraygrad.autograd.graph import trace


def loss_of(x):
    return ag.sum(ag.exp(x) * x)


def test_every_node_is_listed_in_order_of_execution():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    loss = loss_of(x)
    with trace() as t:
        loss.backward()
    assert [e.name for e in t.events] == ["SumBackward", "MulBackward", "ExpBackward", "AccumulateGrad"]
    assert all(e.start <= e.end for e in t.events)
    assert len({e.run for e in t.events}) == 1
    assert {e.thread for e in t.events} == {threading.current_thread().name}
    assert {e.device for e in t.events} == {None}


def test_bytes_saved_and_freed():
    x = ag.tensor(np.ones(1000), requires_grad=True)
    loss = loss_of(x)
    with trace() as kept:
        loss.backward(retain_graph=True)
    with trace() as freed:
        loss.backward()
    by_name = {e.name: e for e in kept.events}
    assert by_name["ExpBackward"].bytes_saved == 8000
    assert by_name["MulBackward"].bytes_saved == 16000
    assert {e.bytes_freed for e in kept.events} == {0}
    assert {e.name: e.bytes_freed for e in freed.events}["ExpBackward"] == 8000


def test_nothing_is_listed_after_the_block():
    x = ag.tensor([1.0], requires_grad=True)
    with trace() as t:
        pass
    loss_of(x).backward()
    assert t.events == []


def test_a_node_that_raises_is_listed_and_the_trace_ends():
    x = ag.tensor([1.0], requires_grad=True)
    y = ag.exp(x)

    def fail(g):
        raise ValueError("hook")

    y.register_hook(fail)
    t = trace()
    with pytest.raises(ValueError, match="hook"), t:
        y.sum().backward()
    assert [e.name for e in t.events] == ["SumBackward", "ExpBackward"]
    with trace():
        pass


def test_device_threads_appear_by_name():
    xs = pytest.importorskip("array_api_strict")
    x = ag.asarray(xs.asarray([1.0, 2.0], device=xs.Device("device1")), requires_grad=True)
    with trace() as t:
        ag.sum(x * x).backward()
    assert all("device1" in e.thread for e in t.events)


def test_two_traces_at_once_are_refused():
    with trace(), pytest.raises(RuntimeError, match="another trace is on"), trace():
        pass
    with trace():  # the first one ended properly
        pass


def test_the_file_is_in_the_trace_event_format(tmp_path):
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    loss = loss_of(x)
    with trace() as t:
        loss.backward()
    t.export(tmp_path / "trace.json")
    data = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    nodes = [e for e in data["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in nodes] == [e.name for e in sorted(t.events, key=lambda e: e.start)]
    assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in nodes)
    assert nodes[0]["args"]["device"] == "host"
    names = [e["args"]["name"] for e in data["traceEvents"] if e["ph"] == "M"]
    assert names == [threading.current_thread().name]


def test_an_empty_trace_can_be_exported(tmp_path):
    t = trace()
    t.export(tmp_path / "empty.json")
    assert json.loads((tmp_path / "empty.json").read_text(encoding="utf-8"))["traceEvents"] == []
