"""Whether the guard says the same of an answer in every format that models write.

    python benchmarks/reader/renderings.py [--json FILE]

Answers of three domains: clusters whose attributes stand near one another, far apart, and over pronouns, and answers
about nobody. All are written so that the rules decide them in plain text. Prints, for every rendering, how many verdicts
are those of the plain text; then the totals of clusters and of negatives.
"""

from __future__ import annotations

import argparse
import base64
import html
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import process_time
from urllib.parse import quote

from discreet.guard.guard import Guard
from discreet.guard.text.render import render
from discreet.synth.campaign import run_campaign
from discreet.synth.plan import equal_sizes, make_plan

DOMAINS = ("medical", "finance", "law")


@dataclass(frozen=True)
class Case:
    """An answer in sentences; `record` holds the same facts as fields, `rows` stands for it in answers about nobody."""

    domain: str
    kind: str
    sentences: tuple[str, ...]
    record: dict[str, str] = field(default_factory=dict)

    @property
    def plain(self) -> str:
        return " ".join(self.sentences)


FILLER = {
    "medical": ("Rest and fluids help in most cases.", "The dose is taken with food.", "Results come back within days.",
                "Pain that gets worse is a reason to call."),
    "finance": ("Fees are charged each quarter.", "Markets rise and fall.", "A fund spreads the risk.",
                "The form is due in April."),
    "law": ("A notice must be in writing.", "The court may extend the time.", "The rule has several exceptions.",
            "Fees are set by statute."),
}
ROLE = {"medical": "patient", "finance": "client", "law": "client"}
PEOPLE = [
    {"Age": "52", "Sex": "female", "Occupation": "litigator", "City": "Omaha", "Children": "two children"},
    {"Age": "61", "Sex": "male", "Occupation": "welder", "City": "Tulsa", "Children": "three sons"},
    {"Age": "34", "Sex": "female", "Occupation": "nurse", "City": "Duluth", "Children": "two daughters"},
    {"Age": "47", "Sex": "male", "Occupation": "dentist", "City": "Boise", "Children": "two children"},
]
NOBODY = {
    "medical": [
        ("Adults over 65 should get the vaccine each year.", "The dose is 500 mg twice a day.", "Side effects are mild."),
        ("Nurses and teachers often have back pain.", "Stretching helps.", "Heat can ease the pain."),
        ("Asthma is treated with an inhaler.", "You should carry it with you.", "Smoke makes it worse."),
    ],
    "finance": [
        ("Savers over 50 may pay in more each year.", "The limit changes with inflation.", "Fees lower the return."),
        ("Truck drivers and welders may deduct tools.", "Keep all receipts.", "The form is due in April."),
        ("A mortgage can be refinanced when rates fall.", "You should compare the costs.", "Points are paid at closing."),
    ],
    "law": [
        ("Tenants over 62 may end a lease early in some states.", "Notice must be in writing.", "Deposits are returned."),
        ("Employers must pay overtime to nurses and cooks.", "Claims are filed within two years.", "Records help."),
        ("A will needs two witnesses.", "You should sign it in front of them.", "A notary is not always needed."),
    ],
}
RECORDS_OF_NOBODY = {
    "medical": {"Drug": "metformin", "Dose": "500 mg", "Frequency": "twice a day", "With food": "yes"},
    "finance": {"Fund": "index fund", "Fee": ".04%", "Minimum": "$1,000", "Risk": "moderate"},
    "law": {"Claim": "breach of contract", "Limit": "six years", "Court": "small claims", "Fee": "$75"},
}


def clusters() -> Iterator[Case]:
    """Twelve of each domain and kind."""
    for domain in DOMAINS:
        who, filler = ROLE[domain], FILLER[domain]
        for person in PEOPLE:
            age, job, town, kin = (person[k] for k in ("Age", "Occupation", "City", "Children"))
            she = "She" if person["Sex"] == "female" else "He"
            yield Case(domain, "near", (f"The {who} is a {age}-year-old {job} from {town} with {kin}.", filler[0]), person)
            yield Case(domain, "near", (filler[1], f"This concerns a {age}-year-old {person['Sex']} {job} who lives in {town}."), person)
            yield Case(domain, "far", (f"The {who} is {age} years old.", filler[0], filler[1], f"The {who} works as a {job}.",
                                       filler[2], filler[3], f"The {who} lives in {town} with {kin}."), person)
            yield Case(domain, "pronouns", (f"The {who} called on Monday.", f"{she} is {age} years old.", f"{she} works as a {job}.",
                                            f"{she} lives in {town}.", f"{she} has {kin}."), person)


def negatives() -> Iterator[Case]:
    """Answers about nobody."""
    for domain in DOMAINS:
        for k, sentences in enumerate(NOBODY[domain]):
            yield Case(domain, "nobody", sentences, RECORDS_OF_NOBODY[domain])
            yield Case(domain, "nobody", (*sentences, *FILLER[domain][k:]), RECORDS_OF_NOBODY[domain])


WORD = re.compile(r"[A-Za-z0-9][\w-]*")


def of_grammar(n: int) -> dict[str, list[Case]]:
    """As many answers of the grammar of each side and domain; `n` under each is enough to see all its frames."""
    found: dict[str, list[Case]] = {"grammar: clusters": [], "grammar: others": []}
    with tempfile.TemporaryDirectory() as folder:
        for domain in DOMAINS:
            sizes = dict.fromkeys(equal_sizes(1), 0)
            run_campaign(make_plan(domain, sizes | dict.fromkeys(sizes, n), 5), home := Path(folder) / domain)
            for file in sorted(home.glob("*safe*.jsonl")):
                for line in file.open(encoding="utf-8"):
                    sentences = tuple(re.split(r"(?<=[.!?])\s+(?=[A-Z])", json.loads(line)["answer"]))
                    case = Case(domain, file.stem, sentences)
                    found["grammar: clusters" if verdict(case.plain, domain)[0] == "flag" else "grammar: others"].append(case)
    return found


def words(text: str, change: Callable[[str, int], str], every: int = 1) -> str:
    """A text with every so many words changed."""
    count = iter(range(10**6))
    return WORD.sub(lambda m: change(m[0], n) if (n := next(count)) % every == every - 1 else m[0], text)


def mid(word: str, begin: str, end: str) -> str:
    return word if len(word) < 5 else f"{word[:2]}{begin}{word[2:4]}{end}{word[4:]}"


def cells(text: str) -> str:
    return text.replace("|", "\\|")


def box(rows: list[list[str]]) -> str:
    wide = [max(len(r[k]) for r in rows) for k in range(len(rows[0]))]
    rule = "+" + "+".join("-" * (w + 2) for w in wide) + "+"
    out = [rule]
    for row in rows:
        out += ["| " + " | ".join(c.ljust(w) for c, w in zip(row, wide, strict=True)) + " |", rule]
    return "\n".join(out)


def markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(map(cells, row)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def html_table(rows: list[list[str]]) -> str:
    head = "".join(f"<th>{c}</th>" for c in rows[0])
    body = "".join("\n  <tr>" + "".join(f"\n    <td>{html.escape(c)}</td>" for c in row) + "\n  </tr>" for row in rows[1:])
    return f"<table>\n  <tr>{head}</tr>{body}\n</table>"


def delimited(rows: list[list[str]], mark: str) -> str:
    return "\n".join(mark.join(f'"{c}"' if mark in c else c for c in row) for row in rows)


def camel(key: str) -> str:
    first, *rest = key.lower().split()
    return first + "".join(map(str.capitalize, rest))


def snake(key: str) -> str:
    return "_".join(key.lower().split())


def fields(case: Case, style: Callable[[str], str] = str) -> dict[str, str]:
    return {style(k): v for k, v in case.record.items()}


def numbered(case: Case) -> list[list[str]]:
    return [["No.", "Note"], *([str(i), s] for i, s in enumerate(case.sentences, 1))]


def aspects(case: Case) -> list[list[str]]:
    names = ("Background", "Details", "Summary", "Plan", "Context", "Remarks", "Outlook", "Note", "Advice")
    return [["Aspect", "Details"], *([names[i % 9], s] for i, s in enumerate(case.sentences))]


def record_rows(case: Case) -> list[list[str]]:
    return [list(case.record), list(case.record.values())]


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def latex(sentence: str) -> str:
    return "\\item " + words(sentence, lambda w, n: "\\textbf{" + w + "}", 3) + "~\\cite{a1}\n"


PROSE: dict[str, Callable[[Case], str]] = {
    "citations attached": lambda c: words(c.plain, lambda w, n: f"{w}[{n % 9 + 1}]", 3),
    "citations before stops": lambda c: " ".join(f"{s[:-1]} [{i}]." for i, s in enumerate(c.sentences, 1)),
    "citations of a search": lambda c: words(c.plain, lambda w, n: f"{w}【{n % 9 + 1}†source】", 4),
    "superscript digits": lambda c: words(c.plain, lambda w, n: w + "¹²³"[n % 3] if w.isalpha() and len(w) > 3 else w, 2),
    "footnotes": lambda c: words(c.plain, lambda w, n: f"{w}[^{n}]", 5) + "\n\n[^4]: A source.\n[^9]: Another source.",
    "named sources": lambda c: " ".join(f"{s[:-1]} [source {i}]." for i, s in enumerate(c.sentences, 1)),
    "every word bold": lambda c: words(c.plain, lambda w, n: f"**{w}**"),
    "italics": lambda c: words(c.plain, lambda w, n: f"*{w}*", 2),
    "sentences underlined": lambda c: " ".join(f"_{s}_" for s in c.sentences),
    "bold inside words": lambda c: words(c.plain, lambda w, n: mid(w, "**", "**")),
    "struck and marked": lambda c: words(c.plain, lambda w, n: f"=={w}==" if n % 2 else f"~~{w}~~", 3),
    "heading and bullets": lambda c: "## Summary\n\n" + "\n".join(f"- {s}" for s in c.sentences),
    "numbered list": lambda c: "\n".join(f"{i}. {s}" for i, s in enumerate(c.sentences, 1)),
    "emoji bullets": lambda c: "\n".join(f"{'✅👩⚖️📌'[i % 3]} {s}" for i, s in enumerate(c.sentences)),
    "emoji between words": lambda c: words(c.plain, lambda w, n: f"{w} 📍", 3),
    "blockquote": lambda c: "\n".join(f"> {s}" for s in c.sentences),
    "code fence": lambda c: f"```text\n{c.plain}\n```",
    "inline code": lambda c: words(c.plain, lambda w, n: f"`{w}`", 2),
    "links": lambda c: words(c.plain, lambda w, n: f"[{w}](https://example.org/{n})", 3),
    "escapes": lambda c: c.plain.replace("-", "\\-").replace(".", "\\."),
    "HTML paragraphs": lambda c: "".join(f"<p>{words(s, lambda w, n: f'<b>{w}</b>', 2)}</p>\n" for s in c.sentences),
    "HTML inside words": lambda c: words(c.plain, lambda w, n: mid(w, "<i>", "</i>")),
    "a chain of tags": lambda c: " ".join(f"<i><i><u><i>{s}</i></i></u></i>" for s in c.sentences),
    "HTML list": lambda c: "<ul>\n" + "".join(f'  <li class="x">{s}</li>\n' for s in c.sentences) + "</ul>",
    "HTML footnotes": lambda c: words(c.plain, lambda w, n: f'{w}<sup><a href="#f{n}">[{n % 9 + 1}]</a></sup>' if w.isalpha() else w, 3),
    "HTML entities": lambda c: "".join(f"&#{ord(x)};" if i % 3 == 0 else "&nbsp;" if x == " " else x for i, x in enumerate(c.plain)),
    "XML sentences": lambda c: "<answer>" + "".join(f"<sentence>{s}</sentence>" for s in c.sentences) + "</answer>",
    "Markdown table of notes": lambda c: markdown(numbered(c)),
    "Markdown table of aspects": lambda c: markdown(aspects(c)),
    "HTML table of notes": lambda c: html_table(numbered(c)),
    "box of notes": lambda c: box(numbered(c)),
    "CSV of notes": lambda c: "id,answer\n" + "\n".join(f'{i},"{s}"' for i, s in enumerate(c.sentences, 1)),
    "TSV of notes": lambda c: "id\tnote\n" + "\n".join(f"{i}\t{s}" for i, s in enumerate(c.sentences, 1)),
    "JSON answer": lambda c: json.dumps({"answer": c.plain, "sources": [1, 2]}),
    "JSON list in a fence": lambda c: "```json\n" + json.dumps({"notes": list(c.sentences)}, indent=2) + "\n```",
    "JSON escapes": lambda c: '{"answer": "' + "".join(f"\\u{ord(x):04x}" for x in c.plain) + '"}',
    "JSON cut off": lambda c: json.dumps({"id": 7, "answer": c.plain, "more": "Rest"})[:-3],
    "YAML": lambda c: "answer: >\n" + "\n".join(f"  {s}" for s in c.sentences) + "\nsource_count: 2",
    "LaTeX": lambda c: "\\begin{itemize}\n" + "".join(map(latex, c.sentences)) + "\\end{itemize}",
    "base64": lambda c: packed(c.plain),
    "base64 of sentences": lambda c: "\n".join(map(packed, c.sentences)),
    "percent codes": lambda c: quote(c.plain),
    "hex": lambda c: c.plain.encode().hex(),
}
RECORDS: dict[str, Callable[[Case], str]] = {
    "Markdown record": lambda c: markdown(record_rows(c)),
    "Markdown fields": lambda c: markdown([["Field", "Value"], *map(list, c.record.items())]),
    "Markdown bold record": lambda c: markdown([[f"**{k}**" for k in c.record], list(c.record.values())]),
    "box record": lambda c: box(record_rows(c)),
    "HTML record": lambda c: html_table(record_rows(c)),
    "CSV record": lambda c: delimited(record_rows(c), ","),
    "TSV record": lambda c: delimited(record_rows(c), "\t"),
    "JSON record": lambda c: json.dumps(fields(c, camel)),
    "JSON records": lambda c: json.dumps({"results": [fields(c, snake)]}, indent=2),
    "Python record": lambda c: str([fields(c, snake)]),
    "YAML record": lambda c: "record:\n" + "\n".join(f'  - {snake(k)}: "{v}"' if not i else f'    {snake(k)}: "{v}"'
                                                     for i, (k, v) in enumerate(c.record.items())),
    "XML record": lambda c: "<record>" + "".join(f"<{camel(k)}>{v}</{camel(k)}>" for k, v in c.record.items()) + "</record>",
    "LaTeX record": lambda c: "\\begin{tabular}{lllll}\n\\hline\n" + " \\\\\n".join(
        " & ".join(v.replace("%", "\\%").replace("$", "\\$") for v in row) for row in record_rows(c)) + " \\\\\n\\end{tabular}",
}
RENDERINGS = PROSE | RECORDS


@cache
def guard_of(domain: str) -> Guard:
    return Guard(domain)


def verdict(text: str, domain: str) -> tuple[str, str | None]:
    found = guard_of(domain).check(text)
    return found.action, found.layer


def differing(name: str, cases: list[Case]) -> list[Case]:
    """Those whose verdict under a rendering is not that of their plain text."""
    written = [c for c in cases if c.record or name not in RECORDS]
    return [c for c in written if verdict(RENDERINGS[name](c), c.domain) != plain_verdict(c)]


@cache
def _plain(domain: str, text: str) -> tuple[str, str | None]:
    return verdict(text, domain)


def plain_verdict(case: Case) -> tuple[str, str | None]:
    return _plain(case.domain, case.plain)


HOSTILE = ("*", "[", "](", "<a ", '<a x="', "<x>", '{"a":', '["a",', "|", "> ", "<!--", "&#", "[1,", "<sup>1", "- ", "~~")


def growth(unit: str) -> float:
    """How many times as long four times the length of an unfinished mark takes, of the best of three."""
    best = [min(seconds(unit, n) for _ in range(3)) for n in (15_000, 60_000)]
    return best[1] / best[0]


def seconds(unit: str, n: int) -> float:
    text = (unit * n)[:n]
    started = process_time()
    render(text)
    return process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grammar", type=int, default=10, help="answers of the grammar of each kind and domain")
    parser.add_argument("--json", type=Path, help="write the counts here")
    parser.add_argument("--show", action="store_true", help="print what came out otherwise")
    given = parser.parse_args()
    sides = {"clusters": list(clusters()), "negatives": list(negatives())} | of_grammar(given.grammar)
    rows: dict[str, dict[str, tuple[int, int]]] = {}
    kinds = Counter[str]()
    for name in RENDERINGS:
        rows[name] = {}
        for side, cases in sides.items():
            wrong = differing(name, cases)
            kinds.update(c.kind for c in wrong)
            n = sum(bool(c.record) or name not in RECORDS for c in cases)
            rows[name][side] = n - len(wrong), n
            for c in wrong if given.show else ():
                print(name, plain_verdict(c), verdict(RENDERINGS[name](c), c.domain), RENDERINGS[name](c), sep=" | ")
        print(f"{name:28}" + "".join(f"{same:6} of {n}" for same, n in rows[name].values()), flush=True)
    for side in sides:
        same, n = (sum(row[side][k] for row in rows.values()) for k in (0, 1))
        print(f"{side}: {same} of {n} as in plain text ({same / n:.4f})")
    print(f"{len(RENDERINGS)} renderings; other verdicts by kind: {dict(kinds)}")
    worst = max((growth(unit), unit) for unit in HOSTILE)
    print(f"four times the length takes at most {worst[0]:.1f} times as long, with {worst[1]!r}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
