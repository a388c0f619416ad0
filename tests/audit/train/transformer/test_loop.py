from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.audit.train.tasks import task
from tests.audit.train.transformer.tiny import loaded, outputs, tensors, tiny_bert
from tests.errors import refused
from tests.heavy import need, quiet

from discreet.audit.train import TrainedModel, TrainingPlan
from discreet.audit.train.recipes.transformer import base_digest
from discreet.audit.train.transformer import loop
from discreet.audit.train.transformer.classifier import LoadedClassifier, Regime
from discreet.audit.train.transformer.loop import ENCODER, Rate, scale, set_state, state_of, train, usual_rate
from discreet.core.errors import InputError, UsageError

LAYERS = {"n_classes": 2, "layers": 1}


def plan_of(rate: float, **more: Any) -> TrainingPlan:
    return TrainingPlan(rate, **{"epochs": 3, "batch": 32, "micro_batch": 8, "warmup": 0.05, "eval_every": 10, **more})


FAST = plan_of(3e-3, epochs=2, batch=8, micro_batch=4, eval_every=2)


@pytest.fixture(scope="module")
def dropping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With dropout."""
    need("torch")
    return tiny_bert(tmp_path_factory.mktemp("loop") / "bert", layers=1, hidden_dropout_prob=0.1)


@pytest.fixture
def bert(tiny: dict[str, Path]) -> Path:
    return tiny["bert"]


def run(folder: Path, plan: TrainingPlan = FAST, *, n: int = 24, checks: int = 8, seed: int = 1, turned: bool = False
        ) -> tuple[LoadedClassifier, TrainedModel]:
    """A tiny classifier of two classes; `turned` gives the checks the wrong labels."""
    model = loaded(folder, **LAYERS)
    read, data, other = model.reader(24), task(n, 2), task(max(checks, 1), 2, seed=99)
    labels = 1 - other.labels if turned else other.labels
    rows, held = read(list(data.inputs)), read(list(other.inputs))[:checks]
    return model, train(model, rows, data.labels, held, labels[:checks], plan, np.random.SeedSequence(seed))


def bytes_of(model: LoadedClassifier) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in state_of(model).items()}


def scripted(monkeypatch: pytest.MonkeyPatch, losses: list[float]) -> list[dict[str, bytes]]:
    """Evaluations that give these losses; what the weights were at each."""
    seen: list[dict[str, bytes]] = []
    left: Iterator[float] = iter(losses)

    def evaluation(model: LoadedClassifier, *_: Any) -> Callable[[], float]:
        def evaluate() -> float:
            seen.append(bytes_of(model))
            return next(left)

        return evaluate

    monkeypatch.setattr(loop, "evaluation", evaluation)
    return seen


@pytest.mark.parametrize(("losses", "more", "steps", "planned", "evaluated", "best"), [
    # The second evaluation is the best; three later ones, one equal to it, end the training before the sixth.
    ([3.0, 2.0, 2.5, 2.0, 2.6, 1.0], {"epochs": 9, "eval_every": 2, "patience": 3}, 10, 27, [2, 4, 6, 8, 10], 1),
    # A better one starts the patience anew.
    ([5.0, 6.0, 6.0, 4.0, 6.0, 6.0, 6.0, 0.0], {"epochs": 9, "eval_every": 1, "patience": 3}, 7, 27,
     [1, 2, 3, 4, 5, 6, 7], 3),
    # Without patience all six updates are made, with an evaluation at the fourth and one after the last.
    ([1.0, 2.0], {"epochs": 2, "eval_every": 4}, 6, 6, [4, 6], 0),
])
def test_patience_ends_training_and_the_best_weights_are_loaded(
        bert: Path, monkeypatch: pytest.MonkeyPatch, losses: list[float], more: dict[str, Any], steps: int,
        planned: int, evaluated: list[int], best: int) -> None:
    seen = scripted(monkeypatch, losses)
    model, done = run(bert, plan_of(3e-3, batch=8, micro_batch=4, **more))
    assert (done.steps, done.planned_steps, done.best_step) == (steps, planned, evaluated[best])
    assert done.validation_curve == tuple(zip(evaluated, losses, strict=False))
    assert [weights == bytes_of(model) for weights in seen] == [place == best for place in range(len(evaluated))]


def test_the_curve_is_the_mean_log_loss_of_the_checks(bert: Path) -> None:
    """What is learned is wrong for these checks: the first evaluation is the best, and the model is that one."""
    torch = need("torch")
    model, done = run(bert, plan_of(1e-2, epochs=9, batch=8, micro_batch=4, eval_every=3, patience=2), turned=True)
    other = task(8, 2, seed=99)
    total = 0.0
    for row, label in zip(model.reader(24)(list(other.inputs)), 1 - other.labels, strict=True):
        ids, mask = tensors([row], model.pad)
        with torch.no_grad():
            total -= float(torch.log_softmax(model(ids, mask)[0].double(), 1)[0, label])
    losses = [loss for _, loss in done.validation_curve]
    assert done.best_step < done.steps < done.planned_steps
    assert losses[-1] > min(losses) + 0.01
    assert total / 8 == pytest.approx(min(losses), abs=1e-6)
    assert not model.model.training
    assert all(weights.grad is None for weights in model.trained().values())


def test_without_checks_the_last_weights_stay(bert: Path) -> None:
    model, done = run(bert, checks=0)
    assert (done.steps, done.best_step, done.validation_curve) == (6, 6, ())
    other, _ = run(bert, plan_of(3e-3, epochs=1, batch=8, micro_batch=4, eval_every=2), checks=0)
    assert bytes_of(model) != bytes_of(other)


def gradients(folder: Path, monkeypatch: pytest.MonkeyPatch, micro: int, **more: Any) -> dict[str, Any]:
    torch = need("torch")
    found: list[Any] = []

    def clip(weights: list[Any], most: float) -> Any:
        found.extend(one.grad.clone() for one in weights)
        return torch.tensor(1.0)

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", clip)
    model, done = run(folder, plan_of(1e-3, epochs=1, batch=16, micro_batch=micro, **more), n=13, checks=0)
    assert done.steps == 1
    return dict(zip(model.trained(), found, strict=True))


def test_parts_of_a_batch_add_up_to_the_gradient_of_the_whole(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """13 examples as one, as 4 + 4 + 4 + 1 and as 5 × 2 + …; against the mean loss of all of them, written out."""
    torch = need("torch")
    model, data = loaded(bert, **LAYERS), task(13, 2)
    ids, mask = tensors(model.reader(24)(list(data.inputs)), model.pad)
    losses = -torch.log_softmax(model(ids, mask)[0], 1)[torch.arange(13), torch.from_numpy(data.labels)]
    losses.mean().backward()
    expected = {name: weights.grad for name, weights in model.trained().items()}
    for micro in (16, 4, 2):
        found = gradients(bert, monkeypatch, micro)
        for name, grad in expected.items():
            torch.testing.assert_close(found[name], grad, rtol=1e-4, atol=1e-6)


def test_smoothed_labels_have_the_gradient_of_a_mix_of_log_losses(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = need("torch")
    model, data = loaded(bert, **LAYERS), task(13, 2)
    logits = torch.log_softmax(model(*tensors(model.reader(24)(list(data.inputs)), model.pad))[0], 1)
    own = logits[torch.arange(13), torch.from_numpy(data.labels)]
    (-0.7 * own.mean() - 0.3 * logits.mean()).backward()
    expected = {name: weights.grad for name, weights in model.trained().items()}
    for name, grad in gradients(bert, monkeypatch, 4, smoothing=0.3).items():
        torch.testing.assert_close(grad, expected[name], rtol=1e-4, atol=1e-6)


def test_the_gradient_is_cut_and_the_rate_follows_the_schedule(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch, rates, norms = need("torch"), list[float](), list[float]()
    step = torch.optim.AdamW.step

    def recorded(self: Any, *given: Any, **more: Any) -> Any:
        group = self.param_groups[0]
        rates.append(group["lr"])
        norms.append(float(torch.stack([one.grad.norm() for one in group["params"]]).norm()))
        assert group["weight_decay"] == 0.25
        return step(self, *given, **more)

    monkeypatch.setattr(torch.optim.AdamW, "step", recorded)
    monkeypatch.setattr(loop, "CLIP", 0.01)
    run(bert, plan_of(3e-3, epochs=2, batch=8, micro_batch=4, warmup=0.4, decay=0.25), checks=0)
    assert rates == [3e-3 * scale(place, 6, 0.4) for place in range(6)]
    assert max(norms) == pytest.approx(0.01, rel=1e-3)


def test_the_result_depends_on_the_seed_and_on_nothing_else(dropping: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on the state of torch's generator, on draws between updates, nor on the caller's mode; which are left."""
    torch = need("torch")
    first = bytes_of(run(dropping)[0])
    assert bytes_of(run(dropping, seed=2)[0]) != first
    padded = loop.tensors

    def disturbed(*given: Any) -> Any:
        torch.rand(7)
        return padded(*given)

    monkeypatch.setattr(loop, "tensors", disturbed)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(77)
        before = torch.get_rng_state()
        with torch.no_grad():
            assert bytes_of(run(dropping)[0]) == first
            assert not torch.is_grad_enabled()
        assert torch.equal(torch.get_rng_state(), before)


def test_dropout_is_on_in_training_and_draws_anew_for_every_part(
        dropping: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    seed_of: Callable[[Any, int], None] = loop._seed

    def recorded(device: Any, seed: int) -> None:
        seeds.append(seed)
        seed_of(device, seed)

    monkeypatch.setattr(loop, "_seed", recorded)
    first = bytes_of(run(dropping, checks=0)[0])
    monkeypatch.setattr(loop, "_seed", lambda device, seed: seed_of(device, 5))
    assert bytes_of(run(dropping, checks=0)[0]) != first
    assert len(set(seeds)) == len(seeds) == 12


def test_a_training_that_diverges_says_so(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(UsageError, r"diverged at update .* with a learning rate of 1e\+30"):
        run(bert, plan_of(1e30, epochs=4, batch=8, micro_batch=4))
    scripted(monkeypatch, [1.0, float("nan")])
    with pytest.raises(UsageError, match="diverged at update 4"):
        run(bert)


@pytest.mark.parametrize("regime", ["lora", "full"])
def test_bfloat16_on_a_processor_comes_close_to_float32(bert: Path, regime: Regime) -> None:
    """The same training in both: next to what training itself changes, rounding changes little."""
    data, held = task(24, 2), task(12, 2, seed=99)
    found = {}
    for dtype, plan in (("float32", FAST), ("bfloat16", FAST), ("untrained", None)):
        kind = "bfloat16" if dtype == "bfloat16" else "float32"
        model = loaded(bert, **LAYERS, regime=regime, dropout=0.0, dtype=kind)
        read = model.reader(24)
        if plan is not None:
            rows = read(list(data.inputs))
            done = train(model, rows, data.labels, rows[:8], data.labels[:8], plan, np.random.SeedSequence(1))
            assert np.isfinite([loss for _, loss in done.validation_curve]).all()
        found[dtype] = outputs(model, read(list(held.inputs)))
    assert np.isfinite(found["bfloat16"]).all()
    rounding, learning = (float(np.abs(found[name] - found["float32"]).max()) for name in ("bfloat16", "untrained"))
    assert 0 < rounding < 0.2 * learning


def test_weights_of_another_shape_are_refused_in_one_line(bert: Path) -> None:
    model = loaded(bert, regime="lora")
    good: dict[str, Any] = dict(state_of(model))
    name = next(iter(good))
    for spoilt, said in (
        ({k: v for k, v in good.items() if k != name}, "lack"),
        ({**good, "zz": good[name]}, "unexpected"),
        ({**good, name: good[name][:-1]}, "of shape"),
        ({**good, name: good[name].astype(np.float64)}, "float64"),
    ):
        before = bytes_of(model)
        with refused(InputError, said):
            set_state(model, spoilt)
        assert bytes_of(model) == before
    set_state(model, good)


def test_a_base_is_known_by_what_is_not_trained(bert: Path, tmp_path: Path) -> None:
    first, again = (base_digest(loaded(bert, seed, regime="lora")) for seed in (1, 2))
    assert first == again == base_digest(loaded(bert, regime="lora", dtype="bfloat16"))
    assert base_digest(loaded(tiny_bert(tmp_path / "other", seed=5), regime="lora")) != first


@given(st.integers(1, 400), st.floats(0, 1))
def test_it_rises_to_one_and_falls_without_reaching_zero(steps: int, warmup: float) -> None:
    found = np.array([scale(step, steps, warmup) for step in range(steps)])
    rising = int(np.ceil(steps * warmup))
    assert found.min() > 0
    assert found.max() == 1
    np.testing.assert_allclose(np.diff(found[:rising]), 1 / rising if rising else 0, atol=1e-12)
    assert (np.diff(found[max(rising - 1, 0) :]) <= 0).all()


def test_after_the_warm_up_it_is_that_of_transformers() -> None:
    torch, transformers = need("torch"), need("transformers")
    with quiet():
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        theirs = transformers.get_cosine_schedule_with_warmup(optimizer, 5, 100)
    for step in range(100):
        expected = float(theirs.get_last_lr()[0]) if step >= 5 else (step + 1) / 5
        assert scale(step, 100, 0.05) == pytest.approx(expected, abs=1e-12)
        optimizer.step()
        theirs.step()


PAPER: Any = "paper, Table 4"
NEAREST: Any = "nearest row of the paper's Table 4"


@pytest.mark.parametrize(("family", "parameters", "lora", "full", "by"), [
    ("llama", 1_235_818_498, 2e-4, 2e-5, PAPER),
    ("llama", 3_212_755_968, 2e-4, 2e-5, PAPER),
    ("llama", 7_504_932_864, 1e-4, 1e-5, PAPER),
    ("gemma3", 11_766_042_226, 5e-5, 5e-6, PAPER),
    ("gemma3_text", 11_766_042_226, 5e-5, 5e-6, PAPER),
    ("gemma2", 2_600_000_000, 5e-5, 5e-6, NEAREST),
    ("llama", 70_000_000_000, 1e-4, 1e-5, NEAREST),
    ("llama", 50_000, 2e-4, 2e-5, NEAREST),
    ("qwen3", 4_000_000_000, 2e-4, 2e-5, NEAREST),
    ("mistral", 11_900_000_000, 5e-5, 5e-6, NEAREST),
    *((family, 22_000_000, ENCODER["lora"], ENCODER["full"], "ours, for encoders") for family in (
        "bert", "distilbert", "roberta", "xlm-roberta", "mpnet", "deberta-v2")),
])
def test_usual_rates(family: str, parameters: int, lora: float, full: float, by: Any) -> None:
    """The four models of Table 4 by their sizes as classifiers, and others by the row nearest to them."""
    assert usual_rate(family, parameters, "lora") == Rate(lora, by)
    assert usual_rate(family, parameters, "full") == Rate(full, by)
