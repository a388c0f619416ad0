"""`reproduce mia`: the items that were asked for, from data to one record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from discreet.audit.defences.frontier import frontier
from discreet.audit.engine import Job, Task, run
from discreet.audit.experiments.membership import audit_task, score_table
from discreet.audit.experiments.runner import LIBRARIES
from discreet.audit.membership.diagnostics import embedding_record
from discreet.audit.train.recipes.head import embedder
from discreet.inputs.texts import read_texts
from discreet_papers.mia.corpora import CORPORA
from discreet_papers.mia.results import paper_rows, supplementary_task
from discreet_papers.mia.settings import Condition, Setting, Study, experiment_of
from discreet_papers.mia.tables import ITEMS, Rows, head
from discreet_papers.shared import paper_figures

QUERIES = (1, 16, 256)
K = TypeVar("K")
ORDER = tuple(ITEMS)
AUDIT_LIBRARIES = (*LIBRARIES, "discreet.audit", "discreet.stats", "discreet.stats.mechanisms", "scipy")
REPRESENTATIONS: Mapping[str, str] = {
    "hidden": "hidden states of the fine-tuned classifier", "words": "words of the record alone (hashed)",
    "sentence": "embeddings of a sentence encoder"}
"""The paper's three are a sentence encoder, the fine-tuned classifier and the base model. Of a sentence encoder the
base model is the encoder itself; counts of words, which no network has touched, stand in its place."""
ENCODERS = {"words": "hashed", "sentence": "minilm"}


def reproduce(setting: Setting, study: Study, items: Sequence[str], **options: Any) -> dict[str, Any]:
    """The record of the items: `{"items": {name: {"title", "rows"}}}`.

    `options` are those of `engine.run`: engine, workers, quiet. Raises DiscreetError where data or a model is not
    there.
    """
    found: dict[str, Any] = {}
    for name in items:
        item = ITEMS[name]
        conditions = item.conditions(setting)
        rows = (MADE[item.rows](name, conditions, study, **options) if item.rows in MADE else item.of_audits(
            setting, audits(conditions, study, supplementary=item.supplementary, **options)))
        found[name] = {"title": item.title, "rows": rows}
    return {"items": found}


def is_analogue(scale: str, setting: Setting, items: Mapping[str, Any]) -> bool:
    """False where each row is of the paper's models and data, with training sets of the paper's size."""
    if scale != "paper":
        return True
    named = {row["model"] for row in paper_figures("mia")}
    rows = [row for item in items.values() for row in item["rows"]]
    return not rows or any(row.get("model", "") not in named or not _papers(row["corpus"], setting) for row in rows)


def _papers(corpus: str, setting: Setting) -> bool:
    """Whether a corpus is read from the hub and its training sets are as large as the paper's."""
    known = [row for item in ("table 1", "table 8") for row in paper_rows(item, structure=CORPORA[corpus].structure)]
    sizes = {int(row["value"]) for row in known if row["metric"] == "n a"}
    return corpus.startswith("hub_") and setting.sizes.get(corpus) in sizes


def audits(conditions: Iterable[Condition], study: Study, *, supplementary: bool = False, **options: Any
           ) -> dict[Condition, Mapping[str, Any]]:
    """The audit and training record of each condition: `{"audit": …, "training": …}`; each model is trained once.

    With `supplementary`, the audit also has what `discreet_papers.mia.results.supplementary` finds: further rows among
    its `attacks`, and `users`. `options` are those of `engine.run`.
    """
    experiments = {condition: experiment_of(condition, study) for condition in conditions}
    tasks = {condition: audit_task(experiment, permutations=study.permutations, bootstraps=study.bootstraps,
                              reference="mismatched" if experiment.mismatched else "neutral")
             for condition, experiment in experiments.items()}
    more = {condition: supplementary_task(experiment) for condition, experiment in experiments.items() if supplementary}
    found = run([*tasks.values(), *more.values()], study.out / "store", label="models and audits", **options)
    said: dict[Condition, Mapping[str, Any]] = {condition: found[task.key].value for condition, task in tasks.items()}
    for condition, task in more.items():
        audit, extra = said[condition]["audit"], found[task.key].value
        said[condition] = {**said[condition], "audit": {**audit, "attacks": [*audit["attacks"], *extra["attacks"]],
                                              "users": extra["users"]}}
    return said


def set_sizes(item: str, conditions: Iterable[Condition], study: Study, **options: Any) -> Rows:
    """Sizes of the evaluation sets of each corpus, ours next to the paper's (tables 1 and 8)."""
    by_corpus = {condition.corpus: condition for condition in conditions}
    made = run_tasks({one: experiment_of(one, study).tasks()["prepare"] for one in by_corpus.values()}, study, options)
    return [{**_named(one), **{key: value[key] for key in ("sides", "planted", "duplicates", "notes")},
             "paper": {row["metric"].removeprefix("n "): int(row["value"])
                       for row in paper_rows(item, structure=one.structure)} or None} for one, value in made.items()]


def statistics(item: str, conditions: Iterable[Condition], study: Study, **options: Any) -> Rows:
    """Rows, share of the positive class, words of each corpus (table 2 counts tokens: ours are words)."""
    rows = []
    for one in {condition.corpus: condition for condition in conditions}.values():
        texts = read_texts(study.file(one.corpus).path)
        words = np.array([len(row.text.split()) for row in texts])
        paper = {row["metric"]: float(row["value"]) for row in paper_rows(item, structure=one.structure)}
        rows.append({**_named(one), "n": len(texts),
                     "positive_share": float(np.mean([row.label == "unsafe" for row in texts])),
                     "words_mean": float(words.mean()), "words_median": float(np.median(words)),
                     "words_max": int(words.max()), "paper": paper or None})
    return rows


def _named(one: Condition) -> dict[str, Any]:
    return {"corpus": one.corpus, "structure": one.structure, "stands_for": CORPORA[one.corpus].stands_for}


def noise(item: str, conditions: Iterable[Condition], study: Study, **options: Any) -> Rows:
    """The Laplace frontier of each condition's f_A (right), fresh and keyed, next to its control."""
    asked = {"sigmas": [one for one in study.setting.sigmas if one > 0], "draws": study.setting.draws}
    made = run_tasks({one: _task(_frontier, "frontier", one, study, asked) for one in conditions}, study, options)
    return [{**head(one, "seed"), "frontier": value["frontier"]} for one, value in made.items()]


def diagnostics(item: str, conditions: Iterable[Condition], study: Study, **options: Any) -> Rows:
    """Diagnostics of f_A's hidden states, and of a sentence encoder that was not fine-tuned, with their pictures."""
    made = run_tasks({(one, kind): _task(_diagnose, f"diagnostics/{kind}", one, study, {"representation": kind})
                      for one in conditions for kind in REPRESENTATIONS}, study, options)
    return [{**head(one, "seed"), "embedding": value["embedding"]} for (one, _), value in made.items()]


def run_tasks(tasks: Mapping[K, Task], study: Study, options: Mapping[str, Any]) -> dict[K, Any]:
    """What each task gives, by what it is of."""
    found = run(tasks.values(), study.out / "store", **options)
    return {name: found[task.key].value for name, task in tasks.items()}


MADE = {"set_sizes": set_sizes, "statistics": statistics, "noise": noise, "diagnostics": diagnostics}
"""What makes the rows of items that are not made of audits."""


def _task(function: Any, name: str, condition: Condition, study: Study, params: Mapping[str, Any]) -> Task:
    experiment = experiment_of(condition, study)
    return Task.of(function, name, inputs=experiment.tasks(), files={"data": experiment.data}, seed=condition.seed,
                   params=dict(params), libraries=AUDIT_LIBRARIES)


def _frontier(job: Job) -> dict[str, Any]:
    table = score_table(job.inputs, read_texts(job.files["data"]))
    found = frontier(table, table.index("f_A"), job.rng(), strengths={"sigma": job.params["sigmas"]},
                     mechanisms=("laplace", "keyed"), queries=QUERIES, draws=job.params["draws"])
    return {"frontier": found.to_json()}


def _diagnose(job: Job) -> dict[str, Any]:
    rows, kind = read_texts(job.files["data"]), job.params["representation"]
    table = score_table(job.inputs, rows)
    if kind == "hidden":
        vectors = job.inputs["fit/a"].arrays["hidden"].astype(np.float64)
    else:
        by_id = {row.id: row.text for row in rows}
        texts = [by_id[name] for name in table.examples.id]
        vectors = np.asarray(embedder(ENCODERS[kind]).rows(texts), dtype=np.float64)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors / np.where(length > 0, length, 1.0)
    return {"embedding": embedding_record(vectors, table, table.index("f_A"), job.rng(),
                                          representation=REPRESENTATIONS[kind])}
