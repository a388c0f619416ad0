"""How often each validator of campaigns rejects what is good, and what is not.

    python benchmarks/validators.py --seeds DIR [--n 300] [--records 200]

Good: passages of public seed corpora in DIR (whole, and about nobody in most of them), and records of the grammar
without their slots, as if a model had written them. Bad: the same records spoilt in one way each. Prints Markdown tables;
every share has its Wilson interval. `--only` runs one part. The part
`marginals` runs a campaign of records without slots and prints how far the axes of its unsafe partition are from the
plan, had what failed at its first draft been dropped as in the paper, and as kept.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from discreet.guard.domains import Domain, builtin_domains, load_domain
from discreet.inputs.duplicates import NearDuplicates
from discreet.stats import rate_estimate
from discreet.synth.campaign import run_campaign
from discreet.synth.grammar import Cluster, Grammar, without_marks
from discreet.synth.plan import PAPER_K, distance, equal_sizes, make_plan
from discreet.synth.prompts import Prompter, cut
from discreet.synth.records import SHARED, Draft, Record, Spec
from discreet.synth.seeds import SeedPassage, corpora, read_seeds
from discreet.synth.validate import Validator, is_truncated
from discreet.synth.writer import PROFILES, Writer, sentence_case

FILES = {"medical": ["medquad", "pubmedqa", "rag_triplets", "mmlu_law_med_fin/medicine.jsonl.gz", "counsel_chat"],
         "finance": ["financebench", "finqa_like", "rag_triplets", "mmlu_law_med_fin/finance.jsonl.gz",
                     "fiqa/qa.jsonl.gz", "policy_terms_negatives"],
         "law": ["mmlu_law_med_fin/law.jsonl.gz", "rag_triplets", "legalbench/legal_qa.jsonl.gz",
                 "civil_rights_cases", "policy_terms_negatives"]}
MODEL = "model"
PARTS = ("real", "claims", "spoilt", "people", "marginals")
# Frames for two facts, {a} and {b}: of two people (spoilt), and of one, though others are spoken of (controls). The rule
# was built on the first of each pair, with values of the first three writers; the rest was written before and not read.
BUILT = ("L1", "L2", "L3")
TESTED = ("L4", "L5", "L6", "L7")
TWO = (("This {p} {a}. Another {p}, seen by a colleague, {b}.", "Of the two, one {a}, and the other {b}.",
        "The {p} {a}. The brother of the {p}, who waits outside, {b}.", "Our {p} {a}; a neighbour who called {b}.",
        "Two people asked. The {p} {a}; the other one, a stranger, {b}.", "The {p} {a}. Her husband {b}."),
       ("The first {p} {a}. The second {b}.", "This {p} {a}. A cousin of the {p}, who pays the bills, {b}.",
        "One caller {a}. A different caller, on the same day, {b}.", "Somebody else {b}; this {p} {a}.",
        "The {p} {a}, while the person in the next room {b}.", "A roommate of this {p} {b}. The {p} {a}.",
        "The {p} {a}. The letter was written by a friend, who {b}.", "The {p} {a}. The {p} in the next case {b}.",
        "We saw two of them: {p} A {a}, and {p} B {b}.", "The {p} {a}. As for the sister who came along, she {b}."))
ONE = (("This {p} {a}. The same {p}, seen by a colleague, {b}.", "The {p} {a}. The husband waits outside. The {p} {b}.",
        "A neighbour brought the {p} in, who {a} and {b}.", "The {p} {a}; as a colleague noted, the {p} {b}."),
       ("The other day this {p} came in. The {p} {a} and {b}.", "The wife calls often. This {p} {a} and {b}.",
        "Unlike another {p} of the same week, this {p} {a}. The {p} {b}.",
        "The {p} {a}. The daughter of the {p} drives. At home, the {p} {b}.",
        "A friend asked for the {p}, who {a}. The {p} also {b}.",
        "The {p} {a}. After the second visit nothing changed. The {p} {b}."))
ROMANCE = ("El tratamiento se elige por su efecto y por su precio, y la dosis se sube poco a poco. La revisión se hace "
           "después de seis semanas, y si el efecto no basta se añade una segunda línea.")


def share(k: int, n: int) -> str:
    one = rate_estimate(k, n, unit="text", of="texts", method="wilson")
    return f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]" if one.low is not None else f"unresolved (n = {n})"


def family(reason: str) -> str:
    """A reason without its class."""
    return reason.split(":", maxsplit=1)[0]


def real(folder: Path, n: int, rng: np.random.Generator) -> None:
    """Passages as if they were safe records: what rejects them, by corpus."""
    print("\n| domain | corpus | n | any | direct | cluster | truncated | task, placeholder | language | near-duplicate |"
          "\n|---|---|---|---|---|---|---|---|---|---|")
    for domain in builtin_domains():
        check = Validator(domain, words=(1, 10**6))
        by: dict[str, list[SeedPassage]] = defaultdict(list)
        for seed in read_seeds(domain, [folder / name for name in FILES[domain]]):
            by[seed.source].append(seed)
        # Whether a passage has an end is asked of the whole of it, the rest of its first 220 words.
        for corpus in corpora(domain):
            if not (passages := by.get(corpus.name)):
                continue
            chosen = [passages[int(i)] for i in rng.permutation(len(passages))[:n]]
            found: Counter[str] = Counter()
            near = NearDuplicates()
            for seed in chosen:
                record = Record(seed.id, Spec("safe", domain, MODEL), Draft("", cut(seed.text, 220)), MODEL)
                # Each check for itself, not the first that fails.
                reasons = {family(r) for r in (*check._form(record, None), *check._content(record))} - {"truncated"}
                reasons |= {"truncated"} if is_truncated(seed.text) else set()
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


def claims(n: int) -> None:
    """Grammar records without slots: how often what they tell is not seen, by mode; and borderline records."""
    print("\n| domain | records | n | rejected | missing | unbound | unplanned | cluster | other |"
          "\n|---|---|---|---|---|---|---|---|---|")
    for domain in builtin_domains():
        check = Validator(domain)
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


def spoilt(n: int, rng: np.random.Generator) -> None:
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
        check = Validator(domain, words=(1, 10**6))
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
            good = as_model(record)
            # A class is claimed that is told of nobody, or only of groups.
            others = [qi for qi in SHARED if qi not in record.spec.qi]
            if not check(good) and record.spec.mode != "INDIRECT_QI" and others:
                other = others[int(rng.integers(len(others)))]
                bad = replace(good, spec=replace(record.spec, qi=(*record.spec.qi[:-1], other)))
                caught["a class that is not told"][0] += bool({"missing", "unbound"} & set(map(family, check(bad))))
                caught["a class that is not told"][1] += 1
            if record.spec.mode == "INDIRECT_QI":
                words = prompter.forbidden(record.spec)
                said = f"{record.draft.answer} So the file has it: {words[int(rng.integers(len(words)))]}."
                bad = replace(as_model(record), draft=Draft("", said, (), words))
                caught["forbidden"][0] += check(bad) == ("forbidden",)
                caught["forbidden"][1] += 1
    print("\n| spoilt by | n | rejected for that |\n|---|---|---|")
    for reason, (k, of) in sorted(caught.items()):
        print(f"| {reason} | {of} | {share(k, of)} |")


def people(n: int, rng: np.random.Generator) -> None:
    """Two facts in the words of a writer, of two people or of one, that are claimed of one."""
    print("\n| values of | facts of | n | unbound | missing | passed |\n|---|---|---|---|---|---|")
    for i, writers in enumerate((BUILT, TESTED)):
        for told, frames in (("two people", TWO[i]), ("one", ONE[i])):
            found: Counter[str] = Counter()
            for k, frame in enumerate(frames * n):
                domain = load_domain(builtin_domains()[k % 3])
                qi = tuple(rng.permutation([one for one in SHARED if one != "FAMILY"])[:2].tolist())
                spec = Spec("unsafe", domain.name, writers[int(rng.integers(len(writers)))], qi=qi)
                cluster = Cluster(Writer(spec, domain, rng))
                a, b = (without_marks(cluster.verb_phrase(one), qi)[0] for one in qi)
                around = replace(make_plan(domain, {"borderline_eval": 8}, k).specs("borderline_eval")[0],
                                 profile=spec.profile)
                said = sentence_case(frame.format(p=domain.person, a=a, b=b))
                answer = f"{Grammar().generate(around, domain, rng).answer} {said}"
                check = Validator(domain, words=(1, 10**6))
                record = Record(str(k), replace(spec, profile=MODEL), Draft("", answer), MODEL)
                found.update({family(reason) for reason in check(record)} or {"passed"})
            of = len(frames) * n
            print(f"| {', '.join(writers)} | {told} | {of} | "
                  + " | ".join(share(found[one], of) for one in ("unbound", "missing", "passed")) + " |", flush=True)


class WithoutSlots:
    """The grammar, as a model whose words nobody knows beforehand."""

    profiles, version = PROFILES, "without slots"

    def __init__(self) -> None:
        self.grammar = Grammar()

    def generate(self, spec: Spec, domain: Domain, rng: np.random.Generator) -> Draft:
        return replace(self.grammar.generate(spec, domain, rng), slots=(), forbidden=())


def read_as_model(check: Validator) -> Callable[[Record], tuple[str, ...]]:
    """The validator, by which records of the grammar are read too."""
    return lambda record: check(as_model(record))


def drift(n: int) -> None:
    """Distances of the axes of an unsafe partition from the plan."""
    print("\n| domain | axis | dropped: total variation | largest deviation | largest relative | kept: total variation | "
          "largest deviation | largest relative |\n|---|---|---|---|---|---|---|---|")

    def cells(one: Mapping[str, Any]) -> str:
        return f"{one['total_variation']:.3f} | {one['deviation']:.3f} | {one['relative']:.2f} (`{one['level']}`)"

    for domain in builtin_domains():
        plan = make_plan(domain, {"unsafe": n}, 9)
        with TemporaryDirectory() as folder:
            manifest = run_campaign(plan, Path(folder) / "run", generator=WithoutSlots(),
                                    check=read_as_model(Validator(domain)))
        part = manifest["partitions"]["unsafe"]
        for axis in ("k", "qi", "framing", "placement", "mode"):
            first, kept = part["distance"]["first_drafts"][axis], part["distance"]["kept"][axis]
            print(f"| {domain} | {axis} | {cells(first)} | {cells(kept)} |")
        found, asked = plan.specs("unsafe"), part["marginals"]["k"]
        print(f"<!-- {domain}: n {len(found)}, kept k {asked}, n at first draft "
              f"{part['distance']['first_drafts']['k']['n']}, short {part['short']}, yields "
              f"{ {m: round(y['value'], 3) for m, y in manifest['yields']['mode'].items()} } -->", flush=True)
    one = distance(PAPER_K["found"], PAPER_K["asked"])
    assert one is not None
    print(f"| paper, any | k | {cells(asdict(one))} | – | – | – |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=Path)
    parser.add_argument("--n", type=int, default=300, help="passages of a corpus")
    parser.add_argument("--records", type=int, default=200, help="grammar records of a partition")
    parser.add_argument("--only", choices=PARTS)
    given = parser.parse_args()
    rng, parts = np.random.default_rng(11), (given.only,) if given.only else PARTS
    if "real" in parts and given.seeds:
        real(given.seeds, given.n, rng)
    if "claims" in parts:
        claims(given.records)
    if "spoilt" in parts:
        spoilt(given.records // 4, rng)
    if "people" in parts:
        people(given.records // 25, rng)
    if "marginals" in parts:
        drift(3 * given.records)


if __name__ == "__main__":
    main()
