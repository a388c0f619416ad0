"""`reproduce mia`: the items that were asked for, from data to one record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.audit.defences.frontier import frontier
from discreet.audit.membership.embedding import embedding_record
from discreet.data.texts import read_texts
from discreet.engine import Job, Task, run
from discreet.experiments.membership import audit_task, score_table
from discreet.experiments.runner import LIBRARIES
from discreet.studies.mia.corpora import CORPORA
from discreet.studies.mia.results import paper_rows, supplementary_task
from discreet.studies.mia.settings import Condition, Setting, Study, experiment_of
from discreet.studies.mia.tables import TABLES, sizes_of_models
from discreet.train.recipes.head import embedder

QUERIES = (1, 16, 256)
AUDIT_LIBRARIES = (*LIBRARIES, "discreet.audit", "discreet.stats", "discreet.mechanisms", "scipy")
EXTRA = {"table 1": "Sizes of the evaluation sets", "table 2": "The corpora",
         "table 8": "Sizes of the evaluation sets: depression", "figure 4": "The Laplace frontier",
         "section 7.1": "Are boundary records outliers?"}
ORDER = ("table 1", "table 2", "table 7", "figure 2", "figure 3", "table 6", "section 7.1", "figure 4", "section 8.2",
         "table 8", "table 9", "table 10", "size", "mismatched", "users")
"""Every item, in the order in which they are made: what most others need comes first."""
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
        if name in TABLES:
            item = TABLES[name]
            conditions = item.conditions(setting)
            title, rows = item.title, item.rows(
                setting, audits(conditions, study, supplementary=item.supplementary, **options))
        else:
            title, rows = EXTRA[name], _extra(name, setting, study, options)
        found[name] = {"title": title, "rows": rows}
    return {"items": found}


def _extra(name: str, setting: Setting, study: Study, options: dict[str, Any]) -> list[dict[str, Any]]:
    if name == "figure 4":
        return figure_4(first_seed(sizes_of_models(setting), setting), study, **options)
    if name == "section 7.1":
        return section_7_1(first_seed(sizes_of_models(setting), setting, setting.sweep), study, **options)
    conditions = TABLES["table 9" if name == "table 8" else "table 7"].conditions(setting)
    return statistics(conditions, study) if name == "table 2" else set_sizes(conditions, study, name, **options)


def audits(conditions: Iterable[Condition], study: Study, *, supplementary: bool = False, **options: Any
           ) -> dict[Condition, Mapping[str, Any]]:
    """The audit and training record of each condition: `{"audit": …, "training": …}`; each model is trained once.

    With `supplementary`, the audit also has what `discreet.studies.mia.results.supplementary` finds: further rows among
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


def set_sizes(conditions: Iterable[Condition], study: Study, item: str, **options: Any) -> list[dict[str, Any]]:
    """Sizes of the evaluation sets of each corpus, ours next to the paper's (tables 1 and 8)."""
    rows = []
    by_corpus = {condition.corpus: condition for condition in conditions}
    tasks = {name: experiment_of(condition, study).tasks()["prepare"] for name, condition in by_corpus.items()}
    found = run(tasks.values(), study.out / "store", **options)
    for name, condition in by_corpus.items():
        value = found[tasks[name].key].value
        paper = {row["metric"].removeprefix("n "): int(row["value"])
                 for row in paper_rows(item, structure=condition.structure)}
        rows.append({"corpus": name, "structure": condition.structure, "stands_for": CORPORA[name].stands_for,
                     "sides": value["sides"], "planted": value["planted"], "duplicates": value["duplicates"],
                     "notes": value["notes"], "paper": paper or None})
    return rows


def statistics(conditions: Iterable[Condition], study: Study) -> list[dict[str, Any]]:
    """Rows, share of the positive class, words of each corpus (table 2 counts tokens: ours are words)."""
    rows = []
    for name, structure in {condition.corpus: condition.structure for condition in conditions}.items():
        texts = read_texts(study.file(name).path)
        words = np.array([len(row.text.split()) for row in texts])
        paper = {row["metric"]: float(row["value"]) for row in paper_rows("table 2", structure=structure)}
        rows.append({"corpus": name, "structure": structure, "stands_for": CORPORA[name].stands_for, "n": len(texts),
                     "positive_share": float(np.mean([row.label == "unsafe" for row in texts])),
                     "words_mean": float(words.mean()), "words_median": float(np.median(words)),
                     "words_max": int(words.max()), "paper": paper or None})
    return rows


def figure_4(conditions: Iterable[Condition], study: Study, **options: Any) -> list[dict[str, Any]]:
    """The Laplace frontier of each condition's f_A (right), fresh and keyed, next to its placebo."""
    rows = []
    asked = {"sigmas": [one for one in study.setting.sigmas if one > 0], "draws": study.setting.draws}
    tasks = {condition: _task(_frontier, "frontier", condition, study, asked) for condition in conditions}
    found = run(tasks.values(), study.out / "store", **options)
    for condition, task in tasks.items():
        rows.append({**_head(condition), "frontier": found[task.key].value["frontier"]})
    return rows


def section_7_1(conditions: Iterable[Condition], study: Study, **options: Any) -> list[dict[str, Any]]:
    """Diagnostics of f_A's hidden states, and of a sentence encoder that was not fine-tuned, with their pictures."""
    rows = []
    tasks = {(condition, kind): _task(_diagnose, f"diagnostics/{kind}", condition, study, {"representation": kind})
             for condition in conditions for kind in REPRESENTATIONS}
    found = run(tasks.values(), study.out / "store", **options)
    for (condition, _), task in tasks.items():
        rows.append({**_head(condition), "embedding": found[task.key].value["embedding"]})
    return rows


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


def _head(condition: Condition) -> dict[str, Any]:
    return {name: getattr(condition, name) for name in ("corpus", "structure", "model", "regime", "seed")}


def first_seed(conditions: Iterable[Condition], setting: Setting, models: Iterable[str] | None = None
               ) -> list[Condition]:
    """Those of the first seed, and of some of the models."""
    named = None if models is None else set(models)
    return [one for one in conditions if one.seed == setting.seeds[0] and (named is None or one.model in named)]
