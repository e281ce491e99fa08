#!/bin/sh
# LangGraph of Python keeps a thread's values with msgpack and some types of its own: sets, dataclasses, named tuples, UUIDs, dates and
# others come back as they were. One expects that what it cannot keep is refused, as a Fraction is. Some common values come
# back as something else, without a word, and only after a pause: in one go, the next node sees what the node before has
# returned; after an interrupt, it sees what was stored. A tuple is a list then, though a named tuple is none. A
# time in a zone has only the offset of its day, so that "the same time tomorrow" is an hour off where the clocks change in
# between. Keys that are dates are texts, a defaultdict and a Counter fail at a missing key, and a deque has lost its length.
# A graph that was tested without a pause behaves otherwise with one, and after every resume of a killed process.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv py
py/bin/pip install -q --disable-pip-version-check langgraph==1.2.24 langgraph-checkpoint==4.3.2 tzdata==2025.2
cat >graph.py <<'PY'
from collections import Counter, defaultdict, deque
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple, TypedDict
from zoneinfo import ZoneInfo

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt


class State(TypedDict):
    value: Any
    seen: str


def missing(mapping):
    try:
        return mapping["missing"]
    except KeyError as error:
        return f"KeyError {error}"


CASES = {
    "tuple": (lambda: (1, 2), lambda v: v == (1, 2)),
    "time tomorrow": (lambda: datetime(2026, 10, 24, 9, tzinfo=ZoneInfo("Europe/Berlin")), lambda v: (v + timedelta(days=1)).isoformat()),
    "dates as keys": (lambda: {date(2026, 1, 1): 1}, lambda v: v.get(date(2026, 1, 1))),
    "defaultdict": (lambda: defaultdict(list), missing),
    "Counter": (lambda: Counter("aab"), missing),
    "deque of two": (lambda: deque([1, 2], maxlen=2), lambda v: v.append(3) or list(v)),
    "set": (lambda: {1, 2}, lambda v: v == {1, 2}),
}


def run(make, look, pause):
    def ask(state):
        if pause:
            interrupt("go on?")

    graph = (
        StateGraph(State)
        .add_node("make", lambda state: {"value": make()})
        .add_node("ask", ask)
        .add_node("look", lambda state: {"seen": str(look(state["value"]))})
        .add_edge(START, "make").add_edge("make", "ask").add_edge("ask", "look")
        .compile(checkpointer=InMemorySaver())
    )
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke({"seen": ""}, config)
    if pause:
        graph.invoke(Command(resume=True), config)
    return graph.get_state(config).values["seen"]


for name, (make, look) in CASES.items():
    print(f"{name}: {run(make, look, False)}, after a pause: {run(make, look, True)}")
PY
py/bin/python graph.py >now
cat >seen <<'TEXT'
tuple: True, after a pause: False
time tomorrow: 2026-10-25T09:00:00+01:00, after a pause: 2026-10-25T09:00:00+02:00
dates as keys: 1, after a pause: None
defaultdict: [], after a pause: KeyError 'missing'
Counter: 0, after a pause: KeyError 'missing'
deque of two: [2, 3], after a pause: [1, 2, 3]
set: True, after a pause: True
TEXT
py/bin/pip list --disable-pip-version-check 2>/dev/null | grep -E '^langgraph'
cat now
diff seen now && echo 'as seen'
