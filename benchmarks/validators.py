"""How often each validator of campaigns rejects what is good, and what is not.

    python benchmarks/validators.py --seeds DIR [--n 300] [--records 200]

Good: passages of public seed corpora in DIR (whole, and about nobody in most of them), and records of the grammar
without their slots, as if a model had written them. Bad: the same records spoilt in one way each. Prints Markdown tables;
every share has its Wilson interval. `--rules` leaves the learned reader out.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.data.duplicates import NearDuplicates
from discreet.domains import builtin_domains, load_domain
from discreet.stats import rate_estimate
from discreet.synth.grammar import Grammar
from discreet.synth.plan import equal_sizes, make_plan
from discreet.synth.prompts import Prompter, cut
from discreet.synth.records import Draft, Record, Spec
from discreet.synth.seeds import SeedPassage, corpora, read_seeds
from discreet.synth.validate import Validator

FILES = {"medical": ["medquad", "pubmedqa", "rag_triplets", "mmlu_law_med_fin/medicine.jsonl.gz", "counsel_chat"],
         "finance": ["financebench", "finqa_like", "rag_triplets", "mmlu_law_med_fin/finance.jsonl.gz",
                     "fiqa/qa.jsonl.gz", "policy_terms_negatives"],
         "law": ["mmlu_law_med_fin/law.jsonl.gz", "rag_triplets", "legalbench/legal_qa.jsonl.gz",
                 "civil_rights_cases"]}
MODEL = "model"
ROMANCE = ("El tratamiento se elige por su efecto y por su precio, y la dosis se sube poco a poco. La revisión se hace "
           "después de seis semanas, y si el efecto no basta se añade una segunda línea.")


def share(k: int, n: int) -> str:
    one = rate_estimate(k, n, unit="text", of="texts", method="wilson")
    return f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]" if one.low is not None else f"unresolved (n = {n})"


def family(reason: str) -> str:
    """A reason without its class."""
    return reason.split(":", maxsplit=1)[0]


def real(folder: Path, n: int, reader: bool, rng: np.random.Generator) -> None:
    """Passages as if they were safe records: what rejects them, by corpus."""
    print("\n| domain | corpus | n | any | direct | cluster | truncated | task, placeholder | language | near-duplicate |"
          "\n|---|---|---|---|---|---|---|---|---|---|")
    for domain in builtin_domains():
        check = Validator(domain, words=(1, 10**6), reader=reader)
        by: dict[str, list[SeedPassage]] = defaultdict(list)
        for seed in read_seeds(domain, [folder / name for name in FILES[domain]]):
            by[seed.source].append(seed)
        for corpus in corpora(domain):
            if not (passages := by.get(corpus.name)):
                continue
            chosen = [passages[int(i)] for i in rng.permutation(len(passages))[:n]]
            found: Counter[str] = Counter()
            near = NearDuplicates()
            for seed in chosen:
                record = Record(seed.id, Spec("safe", domain, MODEL), Draft("", cut(seed.text, 220)), MODEL)
                # Each check for itself, not the first that fails.
                reasons = {family(r) for r in (*check._form(record, None), *check._content(record))}
                reasons |= set() if near.add(seed.id, seed.text) else {"near"}
                found.update({*reasons, *(["any"] if reasons else [])})
            cells = [found["any"], found["direct"], found["cluster"], found["truncated"],
                     found["task"] + found["placeholder"], found["language"], found["near"]]
            print(f"| {domain} | {corpus.name} | {len(chosen)} | {share(cells[0], len(chosen))} | "
                  + " | ".join(f"{k / len(chosen):.3f}" for k in cells[1:]) + " |", flush=True)


def written(domain: str, n: int, partitions: Sequence[str]) -> Iterable[tuple[str, Record]]:
    """Records of the grammar that its own validator passes."""
    grammar, found, check = Grammar(), load_domain(domain), Validator(domain)
    plan = make_plan(domain, equal_sizes(n), 5)
    for partition in partitions:
        for i, spec in enumerate(plan.specs(partition)):
            for attempt in range(10):
                draft = grammar.generate(spec, found, np.random.default_rng((5, i, attempt)))
                record = Record(f"{partition}-{i}", spec, draft, "grammar")
                if not check(record):
                    yield partition, record
                    break


def as_model(record: Record) -> Record:
    """The record as if a model had written it: without slots, and without the words that only the grammar bans."""
    return replace(record, draft=replace(record.draft, slots=(), forbidden=()), generator=MODEL)


def claims(n: int, reader: bool) -> None:
    """Grammar records without slots: how often what they tell is not seen, by mode; and borderline records."""
    print("\n| domain | records | n | rejected | missing | unbound | unplanned | cluster | other |"
          "\n|---|---|---|---|---|---|---|---|---|")
    for domain in builtin_domains():
        check = Validator(domain, reader=reader)
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for partition, record in written(domain, n, ("safe", "unsafe", "unsafe_heldout", "borderline_eval")):
            group = f"{partition} {record.spec.mode}" if record.spec.qi else partition
            reasons = {family(r) for r in check(as_model(record))}
            found[group].update({"n", *reasons, *(["any"] if reasons else [])})
        for group, one in sorted(found.items()):
            known = [one[r] for r in ("missing", "unbound", "unplanned", "cluster")]
            other = sum(one.values()) - one["n"] - one["any"] - sum(known)
            print(f"| {domain} | {group} | {one['n']} | {share(one['any'], one['n'])} | "
                  + " | ".join(f"{k / one['n']:.3f}" for k in (*known, other)) + " |", flush=True)


def spoilt(n: int, reader: bool, rng: np.random.Generator) -> None:
    """Records spoilt in one way each, and how often the validator gives the reason for it."""
    def last_words(answer: str) -> str:
        words = answer.split(" ")
        while words and words[-1][-1:] in ".!?…\"”":
            words.pop()
        return " ".join(words[: len(words) - int(rng.integers(1, 6))]).rstrip(".!?,;:\"” ")

    def copied(answer: str) -> SeedPassage:
        words = re.findall(r"\S+", answer)
        start = int(rng.integers(0, len(words) - 14))
        return SeedPassage("s", "s", None, None, "Elsewhere it says: " + " ".join(words[start:start + 14]) + ", and on.")

    talk = ("Here is the rewritten answer: ", "Sure! Here's a sample response. ", "As an AI language model, I note: ",
            "**Rewritten answer:** ")
    direct = ("His SSN is 412-68-0935.", "Write to j.ortiz@example.org.", "The patient was born on 03/12/1961.",
              "A recent widow, Jane, asked about this.", "Mr. Thompson agreed.", "Call 614-555-0187 for results.")
    ways: dict[str, Callable[[str], str]] = {
        "direct": lambda a: f"{a} {direct[int(rng.integers(len(direct)))]}",
        "task": lambda a: talk[int(rng.integers(len(talk)))] + a,
        "placeholder": lambda a: f"{a} The letter goes to [Name of Clinic] in [City].",
        "truncated": last_words,
        "language": lambda a: f"{ROMANCE} {ROMANCE}",
        "cluster": lambda a: f"{a} This person is 47 years old and works as a welder in Toledo.",
    }
    caught: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for domain in builtin_domains():
        check = Validator(domain, words=(1, 10**6), reader=reader)
        near = NearDuplicates()
        for _, record in written(domain, n, ("borderline_eval",)):
            record = as_model(record)  # noqa: PLW2901
            if check(record):
                continue
            for reason, change in ways.items():
                bad = replace(record, draft=replace(record.draft, answer=change(record.draft.answer)))
                caught[reason][0] += reason in map(family, check(bad))
                caught[reason][1] += 1
            echo = record.spec.subtype != "PUBLIC_GUIDELINE_QUOTES"
            caught["echo"][0] += echo and check(record, copied(record.draft.answer)) == ("echo",)
            caught["echo"][1] += echo
            if near.add(record.id, record.draft.answer):
                changed = re.sub(r"\.", ", as said.", record.draft.answer, count=1)
                caught["near-duplicate, one sentence changed"][0] += not near.add(f"{record.id}-2", changed)
                caught["near-duplicate, one sentence changed"][1] += 1
        prompter = Prompter(domain)
        for _, record in written(domain, n, ("unsafe",)):
            if record.spec.mode == "INDIRECT_QI":
                words = prompter.forbidden(record.spec)
                said = f"{record.draft.answer} So the file has it: {words[int(rng.integers(len(words)))]}."
                bad = replace(as_model(record), draft=Draft("", said, (), words))
                caught["forbidden"][0] += check(bad) == ("forbidden",)
                caught["forbidden"][1] += 1
    print("\n| spoilt by | n | rejected for that |\n|---|---|---|")
    for reason, (k, of) in sorted(caught.items()):
        print(f"| {reason} | {of} | {share(k, of)} |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=Path)
    parser.add_argument("--n", type=int, default=300, help="passages of a corpus")
    parser.add_argument("--records", type=int, default=200, help="grammar records of a partition")
    parser.add_argument("--rules", action="store_true")
    given = parser.parse_args()
    rng = np.random.default_rng(11)
    if given.seeds:
        real(given.seeds, given.n, not given.rules, rng)
    claims(given.records, not given.rules)
    spoilt(given.records // 4, not given.rules, rng)


if __name__ == "__main__":
    main()
