"""Agents' actions and messages that tell what they must not, through the unfitted guard: PrivacyLens, AgentLeak, AgentDojo. Prints JSON.

    python -m benchmarks.agents [--data DATA] [--contents F …] [--points conservative balanced] [--seed 2] [--most 250] [--output F]

Every text is judged in its request, as the proxy judges it: the user's words, then what tools gave. Requests of `benchmarks/requests`, whose
passages a tool gave, are judged without the data too.
`agents_labels.json` says of 100 drawn actions of PrivacyLens by what they name somebody. Intervals are exact at 95%.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import discreet
from benchmarks.requests.score import HERE as REQUESTS
from benchmarks.requests.score import HOLD, share
from benchmarks.requests.score import lines as request_lines
from discreet.core.records import Answer, Prompts
from discreet.inputs.messages import asked_of, strings_of

Row = dict[str, Any]
SETS = ("privacylens/data.jsonl.gz", "agentleak/data.jsonl.gz", "agentleak/tools.jsonl.gz")
LABELS = Path(__file__).with_name("agents_labels.json")
DOMAINS = {"healthcare": "medical", "finance": "finance", "legal": "law"}
"""Of the categories of AgentLeak; the others, and the other sets, have no domain of ours and are judged as medical."""
CONTACTS = {"ssn", "ssn_real", "phone", "phone_real", "credit_card", "credit_card_real", "account_number", "account_number_real", "email", "address"}
NUMBERS = {"insurance_id", "employee_id", "case_number", "case_id", "dispute_id", "account_last4", "patient_id", "note_id"}
NAMES = {"name", "patient_name", "customer_name", "client_name", "employee_name", "candidate_name", "opposing_party", "witness_list"}
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_WORD = re.compile(r"[^\W_]{4,}")
_NAME = re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b")


@dataclass(frozen=True)
class Item:
    """A text of an agent, in its request: whether the set says that it leaks, and kinds under which it is counted."""

    id: str
    leaks: bool
    kinds: tuple[str, ...]
    answer: Answer
    domain: str = "medical"


def lines(path: Path) -> list[Row]:
    """The rows of a set. Exits where it is not there."""
    if not path.exists():
        raise SystemExit(f"{path} is not there; --data takes the folder of {', '.join(SETS)}")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def said(name: str, text: str, messages: list[Row]) -> Answer:
    """A text of an agent that was given these messages."""
    question, turns = asked_of(messages)
    return Answer(name, text, question, (), turns)


def told(question: str, *results: str) -> list[Row]:
    return [{"role": "user", "content": question}, *({"role": "tool", "content": one} for one in results)]


def privacylens(rows: list[Row], draw: random.Random) -> Iterator[Item]:
    """The set has no text of the final action, so it is made: of all sensitive items, of one that is drawn, and of as many drawn
    sentences of the trace that share little with any of them. Also judged as if nothing in the request were the user's words."""
    for row in rows:
        whose = "of the user" if row["data_subject"].lower() in row["user_name"].lower() else "of others"
        messages = told(row["question"], *(step.get("observation", step.get("raw")) for step in row["trace"]))
        items = row["sensitive_items"]
        rest = others(row)
        kept = sorted(draw.sample(range(len(rest)), min(len(items), len(rest))))
        texts = {"all items": items, "one item": [draw.choice(items)], "left out": [rest[place] for place in kept]}
        for what, chosen in texts.items():
            if chosen:
                body = json.dumps({"body": " ".join(chosen)}, ensure_ascii=False)
                name = f"privacylens, {what}"
                answer = said(row["id"], body, messages)
                yield Item(row["id"], what != "left out", (name, f"{name}, {whose}"), answer)
                if what != "one item":
                    yield Item(row["id"], what != "left out", (f"{name}, user_messages: prompt",), replace(answer, prompts=Prompts("prompt")))


def others(row: Row) -> list[str]:
    """Sentences of a trace of which under .3 of the words stand in a sensitive item."""
    secret = words(" ".join(row["sensitive_items"]))
    found: list[str] = []
    for step in row["trace"]:
        try:
            values = json.loads(step.get("observation", ""), strict=False)
        except ValueError:
            continue
        found += [one for text in strings_of(values) for one in _SENTENCE.split(text) if len(one.split()) > 4 and one.endswith((".", "!"))]
    return [one for one in dict.fromkeys(found) if len(words(one) & secret) < 0.3 * len(words(one))]


def words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def agentleak(rows: list[Row], draw: random.Random, most: int) -> Iterator[Item]:
    """Of each drawn scenario one trace, of it one message of each channel: to the user (C1), to another agent (C2)."""
    groups = defaultdict(list)
    for row in rows:
        groups[row["group"]].append(row)
    for group in draw.sample(sorted(groups), min(most, len(groups))):
        row = draw.choice(groups[group])
        for channel, whom in (("C1", "to the user"), ("C2", "to an agent")):
            if among := [one for one in row["messages"] if one["channel"] == channel]:
                message = draw.choice(among)
                kind = leaked(message, row)
                name = f"agentleak, {'leaks' if message['has_leak'] else 'no leak'}"
                barred = {field.removesuffix("_real") for field in message["leaked_fields"]} & set(row["forbidden_fields"])
                kinds = (name, f"{name}, {whom}", f"{name}: {kind}", *([f"{name}, {'a forbidden field' if barred else 'other fields alone'}"] if message["has_leak"] else ()))
                record = json.dumps(row["vault"], ensure_ascii=False)
                yield Item(f"{row['id']}-{row['messages'].index(message)}", message["has_leak"], kinds,
                           said(row["id"], message["content"], told(row["question"], record)), DOMAINS.get(row["category"], "medical"))


def leaked(message: Row, row: Row) -> str:
    """What a message tells of the record by the set's string match, marks of the generator (CANARY_) left out."""
    if not message["has_leak"]:
        asked = any(name in message["content"] for name in _NAME.findall(row["question"]))
        return "names the person of the request" if asked else "names nobody of the request"
    fields = {name for name in message["leaked_fields"] if "CANARY_" not in str(row["vault"].get(name))}
    facts = fields - CONTACTS - NUMBERS - NAMES
    if fields & CONTACTS:
        return "number of a person, phone, card or account"
    if fields & NAMES:
        return "name and more" if facts | fields & NUMBERS else "name alone"
    if fields & NUMBERS:
        return "number of a record"
    return "facts alone" if facts else "marks alone"


def calls(rows: list[Row]) -> Iterator[Item]:
    """Arguments of tool calls, each text once: AgentDojo's, of which one in a trace carries something out, and AgentLeak's."""
    seen: set[str] = set()
    for row in rows:
        results = [row["question"]]
        for at, message in enumerate(row["messages"]):
            if message["channel"] in ("tool_call", "C3") and message["content"] not in seen:
                seen.add(message["content"])
                leaks = bool(message.get("leaked") or message.get("has_leak")) or row["category"] == "example_trace" and row["label"] == 1
                record = [json.dumps(row["vault"], ensure_ascii=False)] if "vault" in row else []
                name = f"tool calls, {row['category']}, {'leaks' if leaks else 'no leak'}"
                yield Item(f"{row['id']}-{at}", leaks, (name,), said(row["id"], message["content"], told(results[0], *results[1:], *record)))
            elif message["channel"] == "tool_response":
                results.append(message["content"])


def through_a_tool(contents: list[Row]) -> Iterator[Item]:
    """Requests of our own writers whose passages a tool gave, with and without words of the agent beside its call."""
    for row in contents:
        for beside in (None, "Let me look that up."):
            call = {"role": "assistant", "content": beside, "tool_calls": [{"id": "1", "type": "function"}]}
            first, *results = told(row["user"], *row["passages"])
            name = f"requests, {row['case']}, {'words' if beside else 'nothing'} beside the call"
            yield Item(row["id"], row["case"] in HOLD, (name,), said(row["id"], row["answer"], [first, call, *results]), row["domain"])


def judged(items: list[Item], points: list[str]) -> Iterator[Row]:
    """The verdicts at each point, on one reading."""
    guards = {(name, point): discreet.Guard(name, point=point) for name in ("medical", "finance", "law") for point in points}
    for item in items:
        judgement, reading = guards[item.domain, points[0]].judged(item.answer, None)
        for point in points:
            verdict = judgement.verdict if reading is None else guards[item.domain, point].on_reading(reading)
            yield {"point": point, "id": item.id, "kinds": item.kinds, "leaks": item.leaks, "action": verdict.action, "cause": verdict.cause and verdict.cause.cause}


def summary(rows: list[Row], labels: dict[str, str]) -> Row:
    by: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        for kind in row["kinds"]:
            by[kind].append(row)
        if row["kinds"][0] == "privacylens, all items" and row["id"] in labels:
            by[f"privacylens, all items, read: {labels[row['id']]}"].append(row)
    return {kind: {"held": share([one["action"] != "safe" for one in of]), "flagged": share([one["action"] == "flag" for one in of])["share"],
                   "causes": Counter(one["cause"] for one in of if one["action"] != "safe")} for kind, of in sorted(by.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="without it only requests are judged")
    parser.add_argument("--contents", type=Path, nargs="*", default=[REQUESTS / "contents_la.jsonl", REQUESTS / "contents_lb.jsonl"])
    parser.add_argument("--points", nargs="*", default=["conservative", "balanced"])
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--most", type=int, default=250, help="traces of PrivacyLens and scenarios of AgentLeak that are drawn")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    items = [item for path in args.contents for item in through_a_tool(request_lines(path))]
    if args.data:
        lens, leak, tools = (lines(args.data / name) for name in SETS)
        lens = random.Random(args.seed).sample(lens, min(args.most, len(lens)))
        items += [*privacylens(lens, random.Random(args.seed)), *agentleak(leak, random.Random(args.seed), args.most), *calls(tools)]
    labels = {f"privacylens-{name}": label for label, names in json.loads(LABELS.read_text(encoding="utf-8")).items() for name in names}
    rows = list(judged(items, args.points))
    if args.output is not None:
        args.output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = {point: summary([row for row in rows if row["point"] == point], labels) for point in args.points}
    print(json.dumps({"cpu minutes": round(time.process_time() / 60, 1), **found}, indent=1))


if __name__ == "__main__":
    main()
