"""A membership tool of `membership_compared.py` on all cases of one seed, under the interpreter that has the tool.

    PYTHON -m benchmarks.membership_compared_tools TOOL SEED.npz RESULT.json

Only numpy and the standard library are imported at the top. Reading the file and training the target are not timed.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TREES = 25
MODELS = 8
"""Reference or shadow models of every tool that takes any."""
DELTA = 1e-5

Array = NDArray[Any]
Figures = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """A fitted target with the records that its owner names as members, and others.

    `features` (n, d) are sparse and `label` (n,) is 0 or 1; `members`, `others` and `control` are places of records.
    `score` (m,) is the target's probability of the true class, of members and then of others, `references` (R, m) that of
    R models with membership `inside` (R, m): for tools that take scores alone.
    """

    seed: int
    model: Any
    features: Any
    label: Array
    members: Array
    others: Array
    control: Array
    score: Array
    references: Array
    inside: Array

    def part(self, rows: Array) -> tuple[Any, Array]:
        return self.features[rows], self.label[rows]

    def dense(self, rows: Array) -> tuple[Array, Array]:
        """For tools that refuse sparse matrices."""
        return self.features[rows].toarray(), self.label[rows]

    @property
    def judged(self) -> Array:
        return np.concatenate([self.members, self.others])

    @property
    def is_member(self) -> Array:
        return np.arange(self.judged.size) < self.members.size

    @property
    def rare(self) -> Array:
        """(m,) whether a judged record is of the rare class."""
        return np.asarray(self.label[self.judged] == 1)


def auc(score: Array, member: Array) -> float:
    """How well a score tells members from others; ties count half."""
    values = np.unique(score, return_inverse=True)[1]
    inside, outside = (np.bincount(values[one], minlength=values.max() + 1) for one in (member, ~member))
    below = np.cumsum(outside) - outside
    return float(inside @ (below + outside / 2) / (inside.sum() * outside.sum()))


def both(score: Array, case: Case) -> Figures:
    """AUC over all records, and of the rare class alone."""
    return {"auc": auc(score, case.is_member), "rare_auc": auc(score[case.rare], case.is_member[case.rare])}


def discreet(case: Case) -> Figures:
    import discreet as package

    found = package.audit_model(case.model, case.part(case.members), case.part(case.others), references=MODELS,
                                control_data=case.part(case.control), design="randomised", seed=case.seed)
    parts = {one.name: one for one in found.decisive.parts}
    return {"verdict": found.verdict, "auc": parts["all records"].auc.value, "rare_auc": parts["class 1"].auc.value,
            "says": " ".join(found.decisive.judgement.reasons), "states": {one.name: one.state for one in parts.values()}}


def sacroml(case: Case) -> Figures:
    """LiRA, the worst case and the structural checks, by its defaults but for the number of shadow models, and what its
    report for release makes of them."""
    place, attacks = importlib.import_module("sacroml.attacks.target"), importlib.import_module("sacroml.attacks.factory")
    (x_in, y_in), (x_out, y_out) = case.dense(case.members), case.dense(case.others)
    with tempfile.TemporaryDirectory() as folder:
        given = {"output_dir": folder, "write_report": False}
        found = {name: attacks.registry[name](**given, **more).attack(place.Target(
            model=case.model, X_train=x_in, y_train=y_in, X_test=x_out, y_test=y_out)) for name, more in {
                "lira": {"n_shadow_models": MODELS, "report_individual": True}, "worstcase": {}, "structural": {}}.items()}
    advice = importlib.import_module("sacroml.attacks.attack_report_formatter").FinalRecommendationModule(
        {**found, "model_params": case.model.get_params()})
    advice.process_dict()
    lira = found["lira"]["attack_experiment_logger"]["attack_instance_logger"]["instance_0"]
    said = {name: {key: str(value) for key, value in one["metadata"]["global_metrics"].items()}
            for name, one in found.items()}
    record = np.array(lira["individual"]["member_prob"], dtype=np.float64)
    return {**both(record, case), "reported_auc": float(lira["AUC"]), "p_higher_auc": float(lira["P_HIGHER_AUC"]),
            "says": {**said, "rejection": advice.support_rejection, "release": advice.support_release}}


def privacyguard(case: Case) -> Figures:
    """LiRA with fixed variances, as for few models, and the analysis with 1,000 bootstraps."""
    import pandas as pd

    attack = importlib.import_module("privacy_guard.attacks.lira_attack").LiraAttack
    none = importlib.import_module("privacy_guard.analysis.mia.aggregate_analysis_input").AggregationType.NONE
    node = importlib.import_module("privacy_guard.analysis.mia.analysis_node").AnalysisNode
    score, references = log_odds(case.score), log_odds(case.references)
    columns = {"user_id": np.arange(score.size), "score_orig": score}
    for name, inside in (("in", case.inside), ("out", ~case.inside)):
        values = np.where(inside, references, np.nan)
        columns |= {f"score_mean_{name}": np.nanmean(values, axis=0), f"score_std_{name}": np.nanstd(values, axis=0)}
    frame = pd.DataFrame(columns)
    given = attack(frame[case.is_member].copy(), frame[~case.is_member].copy(), none, use_fixed_variance=True,
                   std_dev_type="mix", online_attack=True).run_attack()
    found = node(given, delta=DELTA, n_users_for_eval=score.size).run_analysis()
    record = np.concatenate([given.df_train_merge["score"], given.df_test_merge["score"]])
    return {**both(record, case), "reported_auc": float(found.auc),
            "says": {"auc_ci": [float(one) for one in found.auc_ci], "accuracy": float(found.accuracy),
                     "eps_cp": float(found.eps_cp), "eps": float(found.eps)}}


def jax_privacy(case: Case) -> Figures:
    """AUROC, TPR at 1% FPR and a lower bound of epsilon from the probability of the true class."""
    auditing = importlib.import_module("jax_privacy.auditing")
    auditor = auditing.CanaryScoreAuditor(case.score[case.is_member], case.score[~case.is_member])
    params = auditing.BootstrapParams(num_samples=1000, seed=case.seed)
    return {**both(case.score, case), "reported_auc": float(auditor.attack_auroc()), "says": {
        "auroc_interval": [float(one) for one in auditor.attack_auroc(bootstrap_params=params)],
        "tpr_at_1pct_fpr": float(auditor.tpr_at_given_fpr(0.01)),
        "epsilon_at_least": float(auditor.epsilon_clopper_pearson(0.05, DELTA))}}


def art(case: Case) -> Figures:
    """The learned black-box attack, fitted on half of the records and asked about the rest, and TPR by class."""
    box = importlib.import_module("art.attacks.inference.membership_inference").MembershipInferenceBlackBox
    wrap = importlib.import_module("art.estimators.classification.scikitlearn").SklearnClassifier
    roc = importlib.import_module("art.metrics.privacy.worst_case_mia_score").get_roc_for_fpr
    np.random.seed(case.seed)  # noqa: NPY002 - the forest that it fits draws from here.
    (fit_in, ask_in), (fit_out, ask_out) = ((rows[::2], rows[1::2]) for rows in (case.members, case.others))
    attack = box(wrap(case.model), attack_model_type="rf")
    attack.fit(*case.dense(fit_in), *case.dense(fit_out))
    x, y = case.dense(np.concatenate([ask_in, ask_out]))
    member, proba = np.arange(y.size) < ask_in.size, attack.infer(x, y, probabilities=True)[:, 0]
    tprs = {str(int(row[0])): float(row[2]) for row in roc(proba, member.astype(int), y, 0.01)}
    whole = auc(proba, member)
    return {"auc": whole, "rare_auc": auc(proba[y == 1], member[y == 1]), "says": {
        "accuracy": float(((proba > 0.5) == member).mean()), "tpr_at_1pct_fpr_by_class": tprs,
        "tpr_at_1pct_fpr": float(roc(proba, member.astype(int), None, 0.01)[0][1])}}


def log_odds(p: Array) -> Array:
    clipped = np.clip(p, 1e-5, 1 - 1e-5)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


TOOLS: Mapping[str, tuple[Callable[[Case], Figures], str]] = {
    "discreet": (discreet, "discreet"), "sacroml": (sacroml, "sacroml"),
    "privacyguard": (privacyguard, "privacyguard-platform"), "jax": (jax_privacy, "jax-privacy"),
    "art": (art, "adversarial-robustness-toolbox")}
"""With the name of the distribution."""


def fitted(features: Any, data: Mapping[str, Array], case: str, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    rows = data[f"rows_{case}"]
    return RandomForestClassifier(TREES, random_state=seed).fit(features[rows], data["label"][rows])


def sparse(data: Mapping[str, Array]) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix((data["data"], data["indices"], data["indptr"]), shape=tuple(data["shape"]))


def main() -> None:
    tool, path, result = sys.argv[1:]
    logging.disable(logging.WARNING)
    run, package = TOOLS[tool]
    with np.load(path) as file:
        data = dict(file)
    features, seed, lines = sparse(data), int(data["seed"]), []
    for name in map(str, data["cases"]):
        model = fitted(features, data, name, seed)
        case = Case(seed, model, features, data["label"], data["members"], data["others"], data["control"],
                    data[f"score_{name}"], data["references"], data["inside"])
        own = model.predict_proba(features[case.judged])[np.arange(case.judged.size), case.label[case.judged]]
        wall, cpu = time.perf_counter(), time.process_time()
        found = run(case)
        lines.append({"tool": tool, "version": metadata.version(package), "seed": seed, "case": name,
                      "cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall,
                      "target_differs": float(np.abs(own - case.score).max()), **found})
    Path(result).write_text(json.dumps(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
