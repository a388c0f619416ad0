"""Fit the logistic that says whether an answer tells something of whom a message describes. Prints JSON.

    python -m benchmarks.requests.fit_probes --contents F … [--output src/discreet/guard/probe_logistic.json]

Each content is taken four times: with its retrieved texts, without any, with texts of other contents among them, and with general
advice behind the answer. Shares are of contents by writers left out of the fit, one by one, before and after it is asked whether the message
describes anybody by enough.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.requests.score import HERE, Row, lines
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from discreet.guard.asked import FEATURES, Records, features
from discreet.guard.policy import Policy
from discreet.guard.probes import cues_of, described, is_of_another, messages
from discreet.guard.text.consent import Spoken
from discreet.guard.text.doc import Doc
from discreet.guard.text.record import Read
from discreet.guard.text.render import render

CASES = ("probe_confirmed", "probe_refused", "own", "kin", "no_leak")
RIDGE, TAU = 0.3, 0.24
"""Inverse strength of the penalty, and the probability above which an answer tells something."""


def variants(contents: list[Row], rng: random.Random) -> Iterator[tuple[str, Row, list[str], str]]:
    """Contents with their retrieved texts and answers as they are varied."""
    for content in contents:
        near = [one for one in contents if one["domain"] == content["domain"] and one["writer"] == content["writer"]
                and one["id"] != content["id"]]
        record = rng.choice([one for one in near if one["case"].startswith("probe")] or near)["passages"][:1]
        general = rng.choice([one for one in near if one["case"] in ("own", "kin", "no_leak")] or near)
        yield "as it is", content, content["passages"], content["answer"]
        yield "without texts", content, [], content["answer"]
        yield "texts of others", content, content["passages"] + record + general["passages"][:1], content["answer"]
        yield "advice behind", content, content["passages"], f"{content['answer']} {general['answer']}"


def rows(contents: list[Row]) -> Iterator[tuple[Row, list[list[float]], bool]]:
    """By variant: its features for each message in it, and whether one of these describes somebody."""
    policies = {name: Policy.of(name) for name in ("medical", "finance", "law")}
    for kind, content, texts, answer in variants(contents, random.Random(0)):
        policy = policies[content["domain"]]
        records, cues = Records(texts, policy), cues_of(Doc(render(answer)))
        values, gate = [], False
        for text, sure in messages(content["user"]):
            spoken = Spoken(text)
            read = Read.of(spoken.doc, policy.domain, reader=True)
            facts, another = read.facts(policy.counted), is_of_another(spoken)
            values += [list(features(spoken, facts, one, records, sure=sure, another=another)) for one in cues]
            gate |= described(spoken, read, records, (), policy, asker="unknown") is not None
        yield {"kind": kind, "case": content["case"], "writer": content["writer"]}, values, gate


def fit(x: NDArray[np.float64], y: NDArray[np.bool_]) -> tuple[float, NDArray[np.float64]]:
    """Intercept and weights of a ridge logistic over standardised features, for features as they are."""
    scale = StandardScaler().fit(x)
    model = LogisticRegression(C=RIDGE, max_iter=5000).fit(scale.transform(x), y)
    weights = model.coef_[0] / scale.scale_
    return float(model.intercept_[0] - weights @ scale.mean_), weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contents", type=Path, nargs="+", default=[
        HERE / f"{name}.jsonl" for name in ("contents", "contents_final", "contents_choosing", "contents_fresh", "contents_unseen", "contents_last")])
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    contents = [row for path in args.contents for row in lines(path) if row["case"] in CASES]
    made = list(rows(contents))
    flat = [(info, one) for info, values, _ in made for one in values]
    x, y = np.array([one for _, one in flat]), np.array([info["case"] == CASES[0] for info, _ in flat])
    whose = np.array([info["writer"] for info, _ in flat])
    tau = float(np.log(TAU / (1 - TAU)))
    shares: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for writer in sorted(set(whose)):
        intercept, weights = fit(x[whose != writer], y[whose != writer])
        for info, values, gate in made:
            if info["writer"] == writer:
                tells = bool(values) and max(intercept + float(weights @ np.array(one)) for one in values) > tau
                shares[info["kind"]][info["case"]].append(tells == (info["case"] == CASES[0]))
                shares[info["kind"] + ", described"][info["case"]].append((tells and gate) == (info["case"] == CASES[0]))
    intercept, weights = fit(x, y)
    found = {"intercept": round(intercept, 4), "weights": dict(zip(FEATURES, weights.round(4).tolist(), strict=True)),
             "tau": round(tau, 4), "provenance": f"benchmarks/requests/fit_probes.py: {len(contents)} contents of "
             f"{len(set(whose))} writers, four variants; ridge {RIDGE}"}
    if args.output is not None:
        args.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({kind: {case: round(float(np.mean(hits)), 3) for case, hits in by.items()} for kind, by in shares.items()},
                     indent=1))


if __name__ == "__main__":
    main()
