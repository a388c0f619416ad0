"""Growth of `Guard("medical").check` with the length of an answer, on families of text that make careless code slow.

    python benchmarks/linear.py                      # every family, a process each
    python benchmarks/linear.py names base64 --cap 60

Prints JSON: for each family the seconds of one core at each length (kB), the slope of log time against log length over
the lengths that were reached, the slope from 16 kB on, and the peak memory in MiB over that of a short answer. A family
ends before it takes more than `--cap` seconds: the lengths it did not reach are missing.
"""

from __future__ import annotations

import argparse
import base64
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from math import log
from time import process_time

import numpy as np

from discreet import Guard
from discreet.core.records import Answer

KB = (1, 4, 16, 64, 100, 256, 400)
SENTENCE = "Jane Rowe met Maria Gonzalez. "
PERSON = "a 52-year-old litigator from Omaha, "
PATIENT = "The patient is a 52-year-old litigator from Omaha with two children."
PASSAGE = ("The patient in bed four reported that the swelling began after a long flight and that her sister drove her to "
           "the clinic where a nurse took her history and measured her pressure twice before lunch. ")
PROSE = ("The committee met on Tuesday to discuss the budget for the coming year. Several members asked how the new rules "
         "would change the way in which small clinics report their costs. ")


def repeated(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def encoded(text: str, times: int = 1) -> str:
    for _ in range(times):
        text = base64.b64encode(text.encode()).decode()
    return text


def percent(text: str) -> str:
    return "".join(f"%{ord(c):02X}" for c in text)


def table(size: int) -> str:
    return "| Name | Age | Occupation |\n|---|---|---|\n" + repeated("| Jane Rowe | 52 | litigator |\n", size)


def varied(size: int) -> str:
    """Sentences of which no two are alike, so that nothing can be read once for all."""
    towns, trades = ["Omaha", "Duluth", "Leeds", "Tampa"], ["nurse", "litigator", "welder", "teacher", "baker"]
    parts = [f"On day {k} the {trades[k % 5]} from {towns[k % 4]} wrote {k * 7919 % 1009} letters to the office. "
             for k in range(size // 60 + 1)]
    return "".join(parts)[:size]


def quoted(size: int) -> Answer:
    """An answer made of its sources, which are long and alike."""
    sources = tuple(repeated(PASSAGE.replace("four", f"number {k}"), size // 8) for k in range(8))
    return Answer("a", "".join(sources)[:size], "What did the patient in bed four report?", sources)


def _letters(k: int) -> str:
    return "".join("abcdefghijklmnopqrstuvwxyz"[k // 26**p % 26] for p in range(4))


def named(size: int) -> Answer:
    """An answer that gives back the names of a question as long as itself."""
    text = repeated(SENTENCE, size)
    return Answer("a", text, f"Who met? {text}")


def edited(size: int) -> Answer:
    """An answer that leaves out every seventh word of its source."""
    words = [_letters(k * 7919 % 4099) for k in range(size // 5)]
    return Answer("a", " ".join(w for k, w in enumerate(words) if k % 7), "What?", (" ".join(words),))


FAMILIES: dict[str, Callable[[int], str | Answer]] = {
    "prose": lambda n: repeated(PROSE, n),
    "prose varied": varied,
    "names": lambda n: repeated(SENTENCE, n),
    "base64": lambda n: repeated(encoded("Jane Rowe, born 1970, lives in Omaha.") + " ", n),
    "base64 repeated": lambda n: repeated(encoded("Jane Rowe lives in Omaha."), n),
    "base64 whole": lambda n: encoded(repeated(PATIENT, n * 3 // 4)),
    "base64 nested": lambda n: encoded(repeated(SENTENCE, n * 9 // 16), 2)[:n],
    "hex": lambda n: repeated(SENTENCE, n // 2).encode().hex(),
    "percent": lambda n: percent(repeated(SENTENCE, n // 3)),
    "tables": table,
    "wide header": lambda n: f"| Age | {'town or ' * (n // 16)} |\n|---|---|\n" + repeated("| 52 | Omaha |\n", n // 2),
    "links": lambda n: repeated("[a](b) ", n),
    "tags": lambda n: repeated("<div><p class='x'>Jane Rowe</p><patient age=\"52\">", n),
    "open tags": lambda n: repeated("<a ", n),
    "brackets": lambda n: repeated("[{\"a\": ", n),
    "json": lambda n: "[" + repeated('{"name": "Jane Rowe", "age": 52}, ', n) + "]",
    "long token": lambda n: "a" * n,
    "long mixed token": lambda n: repeated("aB3-x_", n),
    "digits": lambda n: repeated("4111111111111111", n),
    "grouped digits": lambda n: repeated("555-123-4567 078-05-1120 ", n),
    "closing marks": lambda n: ")" * n,
    "persons": lambda n: repeated(PERSON, n),
    "sentence": lambda n: repeated("my sister and the patient in bed works as a nurse and you, if a client, ", n),
    "names apart": lambda n: "".join(f"Mr. Ro{_letters(k)} told Jane {_letters(k).title()}. " for k in range(n // 30 + 1))[:n],
    "names in question": named,
    "quotes": quoted,
    "quotes edited": edited,
    "marks": lambda n: repeated("e" + "\u0301" * 40 + "\u200b", n),
    "zero width": lambda n: repeated("Ja\u200bne R\u200bowe ", n),
}


def measured(make: Callable[[int], str | Answer], cap: float) -> None:
    """Print the figures so far as a line of JSON after each length."""
    guard = Guard("medical")
    guard.check("A 52-year-old litigator from Omaha.")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times: dict[int, float] = {}
    for size in KB:
        text = make(size * 1000)
        tries = [_seconds(guard, text) for _ in range(3 if size < 16 else 1)]
        times[size] = min(tries)
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(json.dumps({
            "seconds": {size: round(t, 3) for size, t in times.items()}, "slope": slope(times),
            "slope from 16 kB": slope({s: t for s, t in times.items() if s >= 16}), "memory_mib": round(peak)}), flush=True)
        longer = next((s for s in KB if s > size), size)
        # The next length takes at least as much more time as it is longer.
        if sum(times.values()) + times[size] * longer / size > cap:
            break


def _seconds(guard: Guard, text: str | Answer) -> float:
    started = process_time()
    guard.check(text)
    return process_time() - started


def slope(times: dict[int, float]) -> float | None:
    """Of the least-squares line of log time against log length."""
    if len(times) < 2:
        return None
    return round(float(np.polyfit([log(s) for s in times], [log(t) for t in times.values()], 1)[0]), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("families", nargs="*", choices=[[], *FAMILIES], help="by default all")
    parser.add_argument("--cap", type=float, default=120, help="seconds that one family may take")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        measured(FAMILIES[given.families[0]], given.cap)
        return
    rows = {}
    for name in given.families or FAMILIES:
        command = [sys.executable, __file__, name, "--one", "--cap", str(given.cap)]
        try:
            said = subprocess.run(command, capture_output=True, timeout=2 * given.cap, check=True).stdout
        except subprocess.TimeoutExpired as late:
            said = late.stdout or b""
        lines = said.decode().splitlines()
        rows[name] = json.loads(lines[-1]) if lines else {}
        print(name, json.dumps(rows[name]), file=sys.stderr)
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
