"""Speeds up the waiting in a recording of asciinema, version 2, from stdin to stdout.

A pause of up to a second is kept, so that typing stays readable; what is longer, and all that
is drawn while a sweep works, goes by so many times as fast as the argument says.
"""

import json
import sys

KEPT = 1.2  # seconds
WORKING = "Created "  # the command prints this when the sweep begins
DONE = "CONFIGURATION"  # and this when it prints its report


def main(speed: float) -> None:
    header, *events = (json.loads(line) for line in sys.stdin)
    print(json.dumps(header))
    at = last = 0.0
    working = False
    for moment, kind, text in events:
        pause, last = moment - last, moment
        if working:
            pause /= speed
        elif pause > KEPT:
            pause = KEPT + (pause - KEPT) / 2
        at += pause
        print(json.dumps([round(at, 3), kind, text]))
        working = (working or WORKING in text) and DONE not in text


main(float(sys.argv[1]))
