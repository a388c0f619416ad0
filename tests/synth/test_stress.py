"""The stress test must stress: a bag of words trained on safe and unsafe alone reads the voice, not the leak."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from discreet.core.records import Answer
from discreet.guard.domains import builtin_domains, load_domain
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.synth.plan import make_plan
from discreet.synth.records import generators

N = 240


def answers(domain: str, partition: str, n: int, seed: int) -> list[str]:
    """Drafts as the grammar writes them: nothing here was picked by a validator."""
    specs = make_plan(domain, {partition: n}, seed).specs(partition)
    drafts = [generators["grammar"].generate(spec, load_domain(domain), np.random.default_rng((seed, i))).answer
              for i, spec in enumerate(specs)]
    return [drafts[int(i)] for i in np.random.default_rng(seed).permutation(n)]


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    labels = [1] * len(positives) + [0] * len(negatives)
    return float(roc_auc_score(labels, [*positives, *negatives]))


@pytest.mark.parametrize("domain", builtin_domains())
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_bag_of_words_reads_the_voice(domain: str, seed: int) -> None:
    safe, unsafe = answers(domain, "safe", 2 * N, seed), answers(domain, "unsafe", 2 * N, seed)
    words = TfidfVectorizer(ngram_range=(1, 2))
    model = LogisticRegression(max_iter=2_000)
    model.fit(words.fit_transform([*safe[:N], *unsafe[:N]]), [0] * N + [1] * N)

    def score(texts: list[str]) -> list[float]:
        return list(model.decision_function(words.transform(texts)))

    within = auroc(score(unsafe[N:]), score(safe[N:]))
    borderline = auroc(score(unsafe[N:]), score(answers(domain, "borderline_eval", N, seed)))
    assert within >= 0.94
    assert borderline <= 0.85
    # The paper's fall from within to borderline is more than .15 in every domain.
    assert within - borderline > 0.15


@pytest.mark.parametrize("domain", builtin_domains())
def test_what_is_bound_to_a_person_tells_the_leak(domain: str) -> None:
    """The reader was not taught by the grammar, whose people are told of as no one writes; "Hypothetical, based on this
    client" is an example to it."""
    guard = Guard(Policy.of(domain))

    def score(partition: str, n: int) -> list[float]:
        verdicts = [guard.check(Answer(str(i), text)) for i, text in enumerate(answers(domain, partition, n, 4))]
        return [v.logit for v in verdicts if v.logit is not None]

    unsafe, borderline = score("unsafe", N), score("borderline_eval", N // 2)
    assert len(unsafe) == N
    assert auroc(unsafe, borderline) >= 0.82
    # Clusters of domain facts alone are none by the default rule.
    assert auroc(score("domain_only", N // 3), borderline) < 0.85
