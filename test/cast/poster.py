"""Gives an animated SVG of termtosvg pauses and a poster, from stdin to stdout.

Frames with many new lines stay long enough to be read. Viewers that show no animations, and readers
who prefer reduced motion, see the last frame: the poster.
"""

import re
import sys

LINES = 6  # a frame with so many new lines
READING = 6.0  # stays for so many seconds at least
END = 15.0  # and the last one for so many

KEYFRAME = re.compile(r"^\s*([\d.]+)%\{transform:translateY\((-?\d+)px\)\}$", re.MULTILINE)
DURATION = re.compile(r"(animation-duration: )\d+ms")
VIEW = re.compile(r'<g id="screen_view"(?: transform="[^"]*")?>')
STILL = """
            @media (prefers-reduced-motion: reduce) { #screen_view {animation: none} }
"""


def new_lines(picture: str) -> list[int]:
    """Returns how many lines of each frame are not in the frame before."""
    frames = re.findall(r"<g>(.*?)</g>", picture[VIEW.search(picture).end() :])
    lines = [set(re.findall(r'href="#(g\d+)"', frame)) for frame in frames]
    return [len(now - before) for before, now in zip([set(), *lines], lines)]


def main() -> None:
    picture = sys.stdin.read()
    total = int(re.search(r"--animation-duration: (\d+)ms", picture)[1]) / 1000
    frames = [(float(percent) / 100 * total, position) for percent, position in KEYFRAME.findall(picture)]
    starts, last = [start for start, _ in frames], frames[-1][1]
    at, times = 0.0, []
    for start, end, new in zip(starts, starts[1:], new_lines(picture)):
        times.append(at)
        at += max(end - start, READING if new >= LINES else 0)
    at = max(at, times[-1] + END)
    times.append(at)

    moved = iter(f"{100 * time / at:.3f}%{{transform:translateY({position}px)}}" for time, (_, position) in zip(times, frames))
    picture = KEYFRAME.sub(lambda _: next(moved), picture)
    picture = DURATION.sub(lambda found: f"{found[1]}{at * 1000:.0f}ms", picture)
    picture = VIEW.sub(f'<g id="screen_view" transform="translate(0,{last})">', picture)
    if STILL not in picture:
        picture = picture.replace("]]></style>", STILL + "        ]]></style>", 1)
    sys.stdout.write(picture)


main()
