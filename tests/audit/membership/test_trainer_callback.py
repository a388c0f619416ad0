"""A training by the Trainer that an audit watches: it stays as it is, and the audit is that of the model in memory."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.heavy import quiet
from tests.tokenisers import wordpiece

import discreet
from discreet.audit.membership import trainer_callback
from discreet.audit.membership.trainer_callback import STATES
from discreet.core.errors import InputError, MissingExtraError, UsageError

with quiet():
    torch, transformers, _ = (pytest.importorskip(name) for name in ("torch", "transformers", "accelerate"))
WORDS = "patient litigator Omaha children custody filing adults blood pressure years nobody lender escrow".split()
QUICK: dict[str, Any] = {"design": "randomised", "permutations": 0, "bootstraps": 1, "attacks": ["loss", "trajectory"]}
RNG = np.random.default_rng(5)
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(5, 11))) for _ in range(360)]
ROWS = [{"text": text, "label": int(label)} for text, label in zip(TEXTS, RNG.integers(2, size=360), strict=True)]
IN, OUT, OTHER = ROWS[:120], ROWS[120:240], ROWS[240:]
Train = Callable[..., Any]


def tokenizer_of(words: list[str]) -> Any:
    with quiet():
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=wordpiece(words), pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
            sep_token="[SEP]", model_max_length=24)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tokenizer_of(WORDS)


@pytest.fixture
def train(tmp_path: Path, tokenizer: Any) -> Train:
    def run(callbacks: list[Any], rows: list[dict[str, Any]] = IN, *, epochs: int = 2, folder: str = "run",
            resume: Any = None, frozen: bool = False, hidden_dropout: float = 0.3, hidden: int = 16,
            classes: str = "calm toxic", tokenizer: Any = tokenizer, **more: Any) -> Any:
        """A trainer that trained a random BERT with dropout."""
        with quiet():
            torch.manual_seed(0)
            model = transformers.BertForSequenceClassification(transformers.BertConfig(
                vocab_size=len(tokenizer), hidden_size=hidden, num_hidden_layers=1, num_attention_heads=2,
                intermediate_size=2 * hidden, max_position_embeddings=24, hidden_dropout_prob=hidden_dropout,
                id2label=dict(enumerate(classes.split()))))
            arguments: dict[str, Any] = {"num_train_epochs": epochs, "learning_rate": 0.01, "report_to": [],
                                         "disable_tqdm": True, "use_cpu": True, "logging_steps": 1,
                                         "save_strategy": "no", "seed": 1, **more}
            trainer = transformers.Trainer(model, transformers.TrainingArguments(str(tmp_path / folder), **arguments),
                                           train_dataset=tokenised(rows, tokenizer), processing_class=tokenizer,
                                           eval_dataset=tokenised(OTHER, tokenizer), callbacks=callbacks)
            trainer.remove_callback(transformers.PrinterCallback)
            if frozen:
                model.bert.embeddings.train(False)
                model.bert.embeddings.train = lambda mode=True: model.bert.embeddings
            trainer.train(resume_from_checkpoint=resume)
        return trainer
    return run


def tokenised(rows: list[dict[str, Any]], tokenizer: Any) -> list[dict[str, Any]]:
    return [{**tokenizer(row["text"]), "labels": row["label"]} for row in rows]


def outcome(trainer: Any) -> tuple[list[Any], dict[str, Any], Any, float]:
    """Losses, weights, and what comes next of each source of random numbers."""
    losses = [(one.get("loss"), one.get("grad_norm")) for one in trainer.state.log_history if "loss" in one]
    return losses, trainer.model.state_dict(), torch.rand(3).tolist(), random.random() + np.random.rand()  # noqa: NPY002


class Draws:
    """A collator that draws, as those that mask words do."""

    def __init__(self, tokenizer: Any) -> None:
        self._pads = transformers.DataCollatorWithPadding(tokenizer)

    def __call__(self, rows: Any) -> Any:
        self.last = torch.rand(1), random.random(), np.random.rand()  # noqa: NPY002
        return self._pads(rows)


@pytest.mark.parametrize("every", [None, 4])
def test_the_training_is_what_it_is_without(train: Train, tokenizer: Any, every: int | None) -> None:
    found = []
    for used in (False, True):
        callback = discreet.AuditCallback(tokenised(IN, tokenizer), tokenised(OUT, tokenizer), every=every)
        assert isinstance(callback, transformers.TrainerCallback)
        found.append(outcome(train([callback] if used else [], frozen=True)))
    (losses, weights, *more), (same, others, *too) = found
    assert len(losses) == 30
    assert (losses, more) == (same, too)
    assert all(torch.equal(one, others[name]) for name, one in weights.items())
    assert list(callback.states) == ([15, 30] if every is None else [*range(4, 30, 4), 30])


def test_modes_gradients_and_random_numbers_are_put_back(train: Train, tokenizer: Any) -> None:
    callback = discreet.AuditCallback(tokenised(IN, tokenizer), tokenised(OUT, tokenizer))
    trainer = train([callback], epochs=1)
    callback._collate = Draws(tokenizer)
    model = trainer.model.train()
    model.bert.encoder.eval()
    model.classifier.weight.grad = torch.ones_like(model.classifier.weight)
    modes, states = [one.training for one in model.modules()], torch.get_rng_state()
    drawn = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    callback._logits(model, callback._inputs)
    assert [one.training for one in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), states)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == drawn  # type: ignore[index]  # noqa: NPY002
    assert [name for name, one in model.named_parameters() if one.grad is not None] == ["classifier.weight"]


def test_the_audit_is_that_of_the_model_in_memory(train: Train, tokenizer: Any, tmp_path: Path) -> None:
    """Of texts and of tokens, in Python and from the file."""
    read = tokenised(IN, tokenizer), tokenised(OUT, tokenizer)
    texts, tokens = discreet.AuditCallback(IN, OUT), discreet.AuditCallback(*read)
    trainer = train([texts, tokens], epochs=12)
    table = [([row["text"] for row in rows], [row["label"] for row in rows]) for rows in (IN, OUT)]
    own = discreet.audit_model((trainer.model, tokenizer), *table, **QUICK)
    found = [texts.audit(**QUICK), tokens.audit(**QUICK)]
    auc = [[row.auc.value for row in one.attacks if row.spec.attack == "loss" and row.spec.whole]
           for one in (own, *found)]
    assert auc[0] == pytest.approx(auc[1], abs=1e-3)
    assert auc[0] == pytest.approx(auc[2], abs=1e-3)
    assert [part.name for part in found[0].decisive.parts] == ["all records", "class calm", "class toxic"]
    assert found[0].record["provenance"]["model_type"] == "bert"
    tokens.save(tmp_path / "scores.parquet")
    again = discreet.load_scores(tmp_path / "scores.parquet")
    assert [len(again.of_role(role)) for role in ("target", "checkpoint")] == [1, 11]
    read_back = discreet.audit_membership(again, **QUICK).attacks
    assert [row.auc.value for row in read_back if row.spec.attack == "loss" and row.spec.whole] == pytest.approx(auc[2])


def test_other_trainings_bring_control_and_trajectory(train: Train, tmp_path: Path) -> None:
    """References on random halves, each a training of its own, whose states the trajectory attack compares."""
    halves = [np.random.default_rng(7).permutation(240)]
    judged = [*IN, *OUT]
    sets = [(IN, OUT), *(([judged[row] for row in rows[part]], [judged[row] for row in rows[other]]) for rows in halves
                         for part, other in ((slice(120), slice(120, 240)), (slice(120, 240), slice(120))))]
    runs = [discreet.AuditCallback(*one) for one in [*sets, sets[0]]]
    for place, (one, (rows, _)) in enumerate(zip(runs, [*sets, (OTHER, [])], strict=True)):
        train([one], rows, epochs=6, folder=str(place), hidden_dropout=0.0)
    target, *references, control = runs
    found = target.audit(control=control, references=references, **QUICK)
    assert found.record["provenance"]["models"] == {"target": 1, "checkpoint": 5 * 4, "control": 1, "reference": 2}
    auc = {row.spec.attack: (row.auc.value or 0, row.control_auc.value or 0) for row in found.attacks if row.spec.whole}
    assert {"loss", "reference", "trajectory"} <= set(auc)
    assert all(0 < one < 1 for pair in auc.values() for one in pair), auc
    target.save(tmp_path / "scores.parquet", control=control, references=references)
    again = discreet.load_scores(tmp_path / "scores.parquet")
    assert [len(again.of_role(role)) for role in ("target", "checkpoint", "control", "reference")] == [1, 20, 1, 2]
    assert [int(again.member[row].sum()) for row in again.references("population")] == [120] * 2
    with pytest.raises(UsageError, match="control holds a int: expected an AuditCallback that recorded another"):
        target.audit(control=3)
    with pytest.raises(UsageError, match="neutral holds a AuditCallback: expected"):
        target.audit(neutral=[discreet.AuditCallback(IN, OUT[:50])])


def test_a_model_that_memorises_fails(train: Train) -> None:
    """Labels are random, so that a record tells its label only to a model that was trained on it; records of the same
    draw that nobody trained on are the other audit."""
    pairs, rng = [a + b for a in "abcdefghijklmnop" for b in "abcdefghijklmnop"], np.random.default_rng(0)
    rows = [{"text": " ".join(rng.choice(pairs, 10)), "label": int(label)} for label in rng.integers(4, size=180)]
    memorised, unseen = (discreet.AuditCallback(rows[part], rows[120:], every=1_000)
                         for part in (slice(60), slice(60, 120)))
    train([memorised, unseen], rows[:60], epochs=90, per_device_train_batch_size=60, hidden_dropout=0.0, hidden=32,
          classes="a b c d", tokenizer=tokenizer_of(pairs))
    found, other = (one.audit(**QUICK) for one in (memorised, unseen))
    assert (found.verdict, found.decisive.judgement.reason_codes[0]) == ("fail", "leak")
    assert (found.decisive.primary.auc.low or 0) > 0.7  # type: ignore[union-attr]
    assert other.verdict == "inconclusive"
    assert other.decisive.parts[0].state != "exceeds"


def test_a_resumed_training_goes_on(train: Train, tmp_path: Path) -> None:
    whole = discreet.AuditCallback(IN, OUT)
    train([whole], epochs=3, save_strategy="epoch", lr_scheduler_type="constant")
    first, second = discreet.AuditCallback(IN, OUT), discreet.AuditCallback(IN, OUT)
    train([first], epochs=2, folder="two", save_strategy="epoch", lr_scheduler_type="constant")
    train([second], epochs=3, folder="two", resume=str(tmp_path / "two/checkpoint-15"), lr_scheduler_type="constant")
    assert list(second.states) == [15, 30, 45]
    for step, logits in whole.states.items():
        np.testing.assert_array_equal(second.states[step], logits)
    [kept] = (tmp_path / "two").glob(STATES.format("*"))
    assert b"litigator" not in kept.read_bytes()
    others = discreet.AuditCallback(OUT, IN[:20])
    train([others], epochs=3, folder="two", resume=str(tmp_path / "two/checkpoint-15"))
    assert list(others.states) == [30, 45]  # The file is of other records.
    kept.write_bytes(kept.read_bytes()[:200])
    third = discreet.AuditCallback(IN, OUT)
    train([third], epochs=3, folder="two", resume=str(tmp_path / "two/checkpoint-15"))
    assert list(third.states) == [30, 45]


def test_the_best_model_is_audited(train: Train) -> None:
    callback = discreet.AuditCallback(IN, OUT)
    trainer = train([callback], epochs=3, save_strategy="epoch", eval_strategy="epoch", load_best_model_at_end=True)
    best = int(trainer.state.best_model_checkpoint.rpartition("-")[2])
    assert max(callback.states) == best < 45
    np.testing.assert_allclose(callback.states[best], callback._logits(trainer.model, callback._inputs), atol=1e-5)


def test_a_sample_leaves_out_what_the_model_was_trained_on() -> None:
    callback = discreet.AuditCallback(IN, [*IN[:60], *OUT], sample=50, seed=3)
    assert [len(one["text"]) for one in (callback._members, callback._non_members)] == [50, 50]
    assert not {row["text"] for row in IN} & set(callback._non_members["text"])
    assert callback._members != discreet.AuditCallback(IN, OUT, sample=50, seed=4)._members


def test_only_the_main_process_records(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformers.TrainingArguments, "process_index", 1)
    callback = discreet.AuditCallback(IN, OUT)
    train([callback], epochs=1)
    with pytest.raises(UsageError, match="this callback recorded nothing; expected an audit after"):
        callback.audit()


def test_refused_before_anything_runs(train: Train, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for given, match in (((row for row in IN), "members: a generator was given"), ([{"label": 1}], "no column 'text'"),
                         (tokenised(IN, tokenizer)[0], "members: a dict was given"),
                         ([{"text": "a"}], "no column 'labels' among 'text'; expected input_ids or texts")):
        with pytest.raises(InputError, match=match):
            discreet.AuditCallback(given, OUT)
    with pytest.raises(UsageError, match="sample is 0: expected a whole number of at least 1"):
        discreet.AuditCallback(IN, OUT, sample=0)
    monkeypatch.setattr(torch.nn.Parameter, "ds_id", 3, raising=False)
    with pytest.raises(UsageError, match="weights are sharded over processes"):
        train([discreet.AuditCallback(IN, OUT)])

    def absent(module: str, purpose: str, extra: str) -> Any:
        raise MissingExtraError(purpose, extra, module)

    monkeypatch.setattr(trainer_callback, "need", absent)
    with pytest.raises(MissingExtraError, match=r"the Trainer trains needs the package 'torch'.*discreet\[train\]"):
        discreet.AuditCallback(IN, OUT)
