#!/usr/bin/env python3
"""Asks Apache Otava about the series in otava.json, and says how often it errs on simulated nights.

The release is pinned, because others may answer otherwise:

    python3 -m venv /tmp/otava && /tmp/otava/bin/pip install apache-otava==0.8.0
    /tmp/otava/bin/python3 ask_otava.py           # writes the answers into otava.json, next to this file
    /tmp/otava/bin/python3 ask_otava.py --check   # compares them with those in otava.json
    /tmp/otava/bin/python3 ask_otava.py --rates   # prints the rates of docs/history.md

The values in otava.json stay as they are. The series of the rates have fixed seeds.
"""

import json
import math
import pathlib
import random
import sys
from importlib.metadata import version

from otava.analysis import compute_change_points

OTAVA = "0.8.0"
WINDOW, P_VALUE = 50, 0.001  # Otava's defaults
FILE = pathlib.Path(__file__).with_name("otava.json")
LEAST_NIGHTS = 12  # as in changepoint.go


def answer(values):
    """Returns the first night after each change, and the ratio of the means after and before it."""
    points, _ = compute_change_points(list(values), window_len=WINDOW, max_pvalue=P_VALUE)
    return [[int(p.index), round(p.stats.mean_2 / p.stats.mean_1, 4)] for p in points]


def answered(series):
    return [{"name": s["name"], "values": s["values"], "otava": answer(s["values"])} for s in series]


def draw(rng, nights, memory=0.0, step=0, size=0.0, trend=0.0, noise=0.05):
    """Returns nights as TestSimulatedFalsePoints and TestSimulatedSteps draw them, from another generator."""
    values, z = [], rng.gauss(0, 1)
    for i in range(nights):
        z = memory * z + math.sqrt(1 - memory * memory) * rng.gauss(0, 1)
        level = trend * i / nights + (size if step and i >= step else 0)
        values.append(1000 * math.exp(noise * z + level))
    return values


def false_points(values):
    """Counts the points that a look after any night shows. Two of them at most five nights apart are one."""
    known = []
    for last in range(LEAST_NIGHTS, len(values) + 1):
        for since, _ in answer(values[:last]):
            if all(abs(since - k) > 5 for k in known):
                known.append(since)
    return len(known)


def found_after(values, step):
    """Returns after how many nights, at most ten, a look shows a point within a week of the step in its direction."""
    for last in range(step + 1, step + 11):
        if any(abs(since - step) <= 7 and ratio < 1 for since, ratio in answer(values[:last])):
            return last - step
    return None


def rates():
    for name, options in [("independent", {}), ("memory .5", {"memory": 0.5}), ("10 % slower in 100 nights", {"trend": -0.10})]:
        series = [draw(random.Random(f"{name} {i}"), 100, **options) for i in range(200)]
        print(f"{name}: {sum(map(false_points, series)) / len(series):.2f} false points in 100 nights, {len(series)} series")
    after = [found_after(draw(random.Random(f"step {i}"), 90, step=60, size=-0.10), 60) for i in range(800)]
    five, ten = (100 * sum(a is not None and a <= n for a in after) / len(after) for n in (5, 10))
    print(f"a step of 10 % after 60 nights: found within 5 nights in {five:.0f} %, within 10 in {ten:.0f} %, {len(after)} series")


def main(argument=""):
    if version("apache-otava") != OTAVA:
        sys.exit(f"apache-otava is {version('apache-otava')}, want {OTAVA}")
    if argument == "--rates":
        return rates()
    series = json.loads(FILE.read_text())
    if argument == "--check":
        differ = [s["name"] for s, now in zip(series, answered(series)) if s["otava"] != now["otava"]]
        sys.exit(f"other answers: {', '.join(differ)}" if differ else 0)
    FILE.write_text(json.dumps(answered(series)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
