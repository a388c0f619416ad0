"""Are the verdicts of membership audits right on trained models? Public texts, honest training, leaks of known place.

    OMP_NUM_THREADS=1 python -m benchmarks.membership_truth --data DATA --runs RUNS.jsonl [--seeds 8] [--only SET]
        [--leaks LEAK …]

DATA holds the folders of `SETS`, whose text is neither printed nor kept. A coin draws members, non-members, a pool and
the control model's records. Where a model leaks is decided by what it is trained on: the members where it is to leak,
the pool elsewhere. RUNS gets a line an audit, and what it has is not run again; next to it lie the encoder's vectors.
The first `UNJUDGED` seeds only estimate how strong each leak is. Prints tables in Markdown. One core.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from benchmarks.membership_truth_tables import tables
from discreet.audit.membership.audit import MembershipAudit, audit_membership
from discreet.audit.membership.memory_sets import fitted_clone
from discreet.audit.membership.options import LEAST_LIKELY, WHOLE
from discreet.audit.membership.parts import LEAST_LIKELY_SIZE
from discreet.audit.scores.adapters.in_memory import score_in_memory
from discreet.audit.scores.table import GROUP_KIND, IN, NEAR_DUPLICATES, OUT, Examples, Model, ScoreTable
from discreet.audit.train.recipes.head import embedder
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.inputs.duplicates import near_clusters
from discreet.inputs.splits import halves
from discreet.inputs.texts import text_key

EMOTIONS = ("admiration", "approval", "gratitude", "amusement", "annoyance", "love", "disapproval", "curiosity", "anger",
            "optimism")
UNJUDGED = 3
REFERENCES = 4
SHARES = {"members": 0.35, "non-members": 0.35, "pool": 0.2, "control": 0.1}
TOPICS, WORDS = 3, 60
"""Groups of records by their vectors; words of a text that the encoder reads."""


@dataclass(frozen=True)
class Source:
    """A file of texts: how many rows of each label are kept (None: all), of all together, and what stays together."""

    path: str
    rows: Mapping[str, int | None]
    most: int | None = None
    group: str | None = None
    near: bool = False


SETS = {
    "imbalance 1:50": Source("hate_davidson/all.jsonl.gz", {"offensive_language": 10_000, "hate_speech": 200}),
    "users, 1:20": Source("hate_stormfront/all.jsonl.gz", {"noHate": 6_000, "hate": 300}, group="user_id"),
    "ten classes": Source("goemotions/train.jsonl.gz", dict.fromkeys(EMOTIONS), most=5_000),
    "near-duplicates": Source("code_vulnerability/cve_functions.jsonl.gz", {"safe": None, "vulnerable": None}, near=True),
    "2,800 rows": Source("dreaddit/train.jsonl.gz", {"stress": None, "no_stress": None}, group="post_id"),
}
FAMILIES: dict[str, Any] = {
    "linear": LogisticRegression(C=10.0, max_iter=300),
    "trees": RandomForestClassifier(25),
    "perceptron": MLPClassifier((32,), max_iter=25, learning_rate_init=0.005),
    "head": MLPClassifier((64,), max_iter=25, learning_rate_init=0.005),
    "penalised head": LogisticRegression(C=0.1, max_iter=300)}
"""On TF-IDF; heads on the vectors of a frozen encoder."""
PLANTED = "planted records"
COPIES, CHOSEN = 16, 120
"""How often a planted record is repeated; how many records a coin may plant."""
LEAKS = ("everywhere", "rare class", "one group", "no leak", "learnt nothing", LEAST_LIKELY, PLANTED)


@dataclass(frozen=True, eq=False)
class Corpus:
    """n records: features (n, d) of either kind, label, unit and topic (n,); units are never on two sides."""

    tfidf: Any
    vectors: FloatArray
    label: IntArray
    unit: IntArray
    topic: IntArray
    source: Source = field(repr=False)

    @cached_property
    def rare(self) -> int:
        """The smallest class."""
        return int(np.bincount(self.label).argmin())

    def features(self, family: str) -> Any:
        return self.vectors if "head" in family else self.tfidf

    def place(self, leak: str) -> str:
        """The part that a leak is made in."""
        return {"everywhere": WHOLE, "rare class": f"class {self.rare}", "one group": "category topic 0",
                LEAST_LIKELY: LEAST_LIKELY}.get(leak, "")


def read(data: Path, source: Source) -> list[dict[str, Any]]:
    """The rows of a source without texts that stand there twice. SystemExit where the file is not there."""
    path = data / source.path
    if not path.is_file():
        raise SystemExit(f"{path} is not there: expected the public sets of shared/data; give their folder by --data")
    given = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    given = list({text_key(row["text"]): row for row in given if row["label"] in source.rows}.values())
    rng, kept = np.random.default_rng(27), list[int]()
    for label, count in source.rows.items():
        places = [place for place, row in enumerate(given) if row["label"] == label]
        kept += rng.permutation(places)[:count].tolist()
    return [given[place] for place in sorted(rng.permutation(kept)[:source.most].tolist())]


def corpus_of(data: Path, name: str, cache: Path) -> Corpus:
    """A set with its features; the vectors and clusters of near-duplicates are made once and kept in `cache`."""
    source = SETS[name]
    rows = read(data, source)
    texts = [row["text"] for row in rows]
    kept = cache / f"{Path(source.path).parent.name}_{len(rows)}.npz"
    if not kept.is_file():
        started = time.process_time()
        vectors = embedder("minilm").rows([" ".join(text.split()[:WORDS]) for text in texts])
        near = near_clusters([text_key(text) for text in texts]) if source.near else np.arange(len(rows))
        topic = KMeans(TOPICS, n_init=1, random_state=0).fit_predict(vectors)
        np.savez(kept, vectors=vectors, near=near, topic=topic, seconds=time.process_time() - started)
    with np.load(kept) as made:
        vectors, near, topic = made["vectors"].astype(np.float64), made["near"], made["topic"].astype(np.int64)
    unit = near if source.group is None else np.unique([str(row[source.group]) for row in rows], return_inverse=True)[1]
    label = np.array([list(source.rows).index(row["label"]) for row in rows])
    tfidf = TfidfVectorizer(sublinear_tf=True, min_df=2, max_features=4_000).fit_transform(texts)
    return Corpus(tfidf, vectors, label, unit.astype(np.int64), topic, source)


@dataclass(frozen=True, eq=False)
class Draw:
    """One seed: the side of each record, and the score table that all targets of a family share but for their own row.

    A reference model sees a random half of members and non-members, the control model records that nobody else sees.
    """

    corpus: Corpus
    seed: int

    @cached_property
    def side(self) -> IntArray:
        """(n,) places in `SHARES`; a coin for each unit."""
        names = int(self.corpus.unit.max()) + 1
        return np.random.default_rng((self.seed, 0)).choice(len(SHARES), names, p=list(SHARES.values()))[
            self.corpus.unit]

    @cached_property
    def judged(self) -> IntArray:
        """Members and non-members."""
        return np.flatnonzero(self.side < 2)

    @cached_property
    def selector(self) -> FloatArray:
        """(judged, K) logits of the selection model: a linear one, of the pool."""
        pool = np.flatnonzero(self.side == 2)
        return self.scores("linear", pool, self.corpus.label[pool], 99, "selection")

    @cached_property
    def least_likely(self) -> IntArray:
        """Of each class the members that the selection model finds least likely, as many as the part judges."""
        label = self.corpus.label[self.judged]
        found = self.selector[np.arange(label.size), label]
        order = np.argsort(found, kind="stable")
        order = order[self.side[self.judged[order]] == 0]
        first = [order[label[order] == one][:LEAST_LIKELY_SIZE] for one in np.unique(label)]
        return np.asarray(self.judged[np.concatenate(first)], dtype=np.int64)

    @cached_property
    def planted(self) -> IntArray:
        """Records that may be planted; members of them are."""
        return np.random.default_rng((self.seed, 3)).choice(self.judged, CHOSEN, replace=False)

    def trained_on(self, leak: str) -> tuple[IntArray, IntArray]:
        """Rows that the target of a leak is trained on, and their labels."""
        member, pool, label = self.side == 0, self.side == 2, self.corpus.label
        leaking: BoolArray = {"everywhere": np.ones_like(member), "rare class": label == self.corpus.rare,
                              "one group": self.corpus.topic == 0}.get(leak, np.zeros_like(member))
        rows = np.flatnonzero(np.where(leaking, member, pool))
        if leak == LEAST_LIKELY:
            rows = np.concatenate([rows, self.least_likely])
        if leak == PLANTED:
            rows = np.concatenate([rows, np.repeat(self.planted[member[self.planted]], COPIES)])
        given = label[rows]
        return rows, np.random.default_rng((self.seed, 1)).permutation(given) if leak == "learnt nothing" else given

    def scores(self, family: str, rows: IntArray, labels: IntArray, seed: int, name: str) -> FloatArray:
        """(judged, K) logits of a model trained on `rows`."""
        features = self.corpus.features(family)
        model = fitted_clone(FAMILIES[family], features[rows], labels, seed, name)
        classes = tuple(map(str, range(int(self.corpus.label.max()) + 1)))
        return score_in_memory(model, features[self.judged], name).like(classes, len(classes), name)

    def table(self, family: str) -> ScoreTable:
        """The table with references and control model; the target's scores are still zeros."""
        corpus, rng, judged = self.corpus, np.random.default_rng((self.seed, 2)), self.judged
        models, member = [Model("target")], [self.side[judged] == 0]
        logits = [np.zeros((judged.size, int(corpus.label.max()) + 1))]
        strata = 2 * corpus.label + (self.side == 0)
        for _ in range(REFERENCES // 2):
            for half in halves(judged, strata, corpus.unit, rng):
                name = f"reference_{len(models)}"
                logits.append(self.scores(family, half, corpus.label[half], len(models), name))
                models.append(Model(name, "reference", "population"))
                member.append(np.isin(judged, half))
        control = np.flatnonzero(self.side == 3)
        logits.append(self.scores(family, control, corpus.label[control], len(models), "control"))
        models.append(Model("control", "control"))
        member.append(np.zeros(judged.size, dtype=np.bool_))
        n, near = judged.size, np.array([NEAR_DUPLICATES] * judged.size, dtype=np.object_)
        grouped = corpus.source.near or corpus.source.group is not None
        examples = Examples(
            judged.astype(str).astype(np.object_), corpus.label[judged], np.zeros(n, dtype=np.int64),
            corpus.unit[judged] if grouped else None,
            categories=tuple(frozenset({f"topic {one}"}) for one in corpus.topic[judged]),
            columns={GROUP_KIND: near} if corpus.source.near else {})
        return ScoreTable(tuple(models), examples, np.stack(logits)[:, :, None, :],
                          np.where(np.stack(member), IN, OUT).astype(np.int8), "prob")


    def told(self, shared: ScoreTable, leak: str) -> ScoreTable:
        """The shared table with what the audit of this leak is told besides: a selection model, or planted records."""
        examples = shared.examples
        if leak == PLANTED:
            return replace(shared, examples=replace(examples, planted=np.where(
                np.isin(self.judged, self.planted), COPIES, 0)))
        if leak == LEAST_LIKELY:
            return replace(
                shared, models=(*shared.models, Model("selection", "selection")),
                logits=np.concatenate([shared.logits, self.selector[None, :, None, :]]),
                member=np.concatenate([shared.member, np.full((1, self.judged.size), OUT, dtype=np.int8)]))
        return shared


def line_of(audit: MembershipAudit) -> dict[str, Any]:
    """What is kept of an audit."""
    found = audit.decisive
    return {"verdict": found.verdict, "codes": list(found.judgement.reason_codes),
            "planted": [[one.detected, one.auc.value] for one in found.planted], "parts": [
        {"name": part.name, "state": part.state, "auc": part.auc.value, "control": part.control_auc.value,
         "lacks": [part.lacks_members, part.lacks_nonmembers], "n": [part.auc.n_pos or 0, part.auc.n_neg or 0]}
        for part in found.parts]}


def audits(draw: Draw, family: str, leaks: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each of these leaks with its audit."""
    shared = draw.table(family) if leaks else None
    for leak in leaks:
        assert shared is not None
        table = draw.told(shared, leak)
        logits = table.logits.copy()
        logits[0, :, 0] = draw.scores(family, *draw.trained_on(leak), 100 + LEAKS.index(leak), "target")
        audit = audit_membership(replace(table, logits=logits), design="randomised", permutations=0, bootstraps=1,
                                 seed=draw.seed, attacks=["loss"])
        yield leak, {"place": draw.corpus.place(leak), **line_of(audit)}


def kept_lines(runs: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in runs.read_text(encoding="utf-8").splitlines()] if runs.is_file() else []


def run(data: Path, runs: Path, seeds: int, only: str, leaks: Sequence[str]) -> None:
    """Add the audits that RUNS lacks, seed by seed."""
    corpora = {name: corpus_of(data, name, runs.parent) for name in SETS if only in ("", name)}
    done = dict[tuple[Any, ...], set[str]]()
    for line in kept_lines(runs):
        done.setdefault((line["set"], line["family"], line["seed"]), set()).add(line["leak"])
    for seed, (name, corpus), family in product(range(seeds), corpora.items(), FAMILIES):
        started = time.process_time()
        left = [leak for leak in leaks if leak not in done.get((name, family, seed), set())]
        for leak, line in audits(Draw(corpus, seed), family, left):
            spent, started = time.process_time() - started, time.process_time()
            with runs.open("a", encoding="utf-8") as out:
                out.write(json.dumps({"set": name, "family": family, "leak": leak, "seed": seed, **line,
                                      "cpu": round(spent, 2)}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=UNJUDGED + 5)
    parser.add_argument("--only", default="", choices=["", *SETS])
    parser.add_argument("--leaks", nargs="+", default=LEAKS, choices=LEAKS)
    given = parser.parse_args()
    given.runs.parent.mkdir(parents=True, exist_ok=True)
    run(given.data, given.runs, given.seeds, given.only, given.leaks)
    lines = kept_lines(given.runs)
    print("\n\n".join("\n".join(part) for part in tables(lines, UNJUDGED)), end="\n\n")
    print(f"{sum(line['cpu'] for line in lines) / 60:.0f} minutes of CPU time without the encoder")


if __name__ == "__main__":
    main()
