from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.audit.train.tasks import seeds
from tests.errors import refused

torch = pytest.importorskip("torch")

from discreet.audit.train import TrainingPlan, child  # noqa: E402
from discreet.audit.train.loop import score, train_networks  # noqa: E402
from discreet.audit.train.recipes.images import Resnet18  # noqa: E402
from discreet.audit.train.recipes.mlp import Mlp  # noqa: E402
from discreet.core.errors import UsageError  # noqa: E402

N, D, K = 30, 6, 3
NETWORK = Mlp(hidden=8, layers=1).network((D,), K)


def problem(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, D)).astype(np.float32), rng.integers(0, K, N)


def by_torch(x: np.ndarray, targets: Any, rows: np.ndarray, plan: TrainingPlan, seed: np.random.SeedSequence
             ) -> np.ndarray:
    """Logits after the same training, one model, by torch's modules and optimiser in double precision."""
    start = NETWORK.initial(np.random.default_rng(child(seed, 0)))
    net = torch.nn.Sequential(torch.nn.Linear(D, 8), torch.nn.ReLU(), torch.nn.Linear(8, K)).double()
    with torch.no_grad():
        for mine, name in zip(net.parameters(), ("weight0", "bias0", "weight1", "bias1"), strict=True):
            mine.copy_(torch.tensor(start[name]).T.squeeze())
    adam = torch.optim.Adam(net.parameters(), lr=plan.rate, weight_decay=plan.decay)
    order, given = np.random.default_rng(child(seed, 1)), torch.tensor(x, dtype=torch.float64)
    for _ in range(plan.epochs):
        for part in torch.tensor(rows[order.permutation(rows.size)]).split(plan.batch):
            adam.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(given[part]), torch.tensor(targets)[part],
                                                     label_smoothing=plan.smoothing)
            loss.backward()
            adam.step()
    found: np.ndarray = net(given).detach().numpy()
    return found


@pytest.mark.parametrize(("decay", "smoothing"), [(0.0, 0.0), (0.05, 0.0), (0.0, 0.3)])
@pytest.mark.parametrize("soft", [False, True])
def test_is_adam_on_batches_of_the_rows_in_their_order(decay: float, smoothing: float, soft: bool) -> None:
    x, labels = problem()
    plan = TrainingPlan(0.02, 6, 7, decay=decay, smoothing=smoothing)
    rng = np.random.default_rng(1)
    # Models of three sizes, one with a batch less, one with repeated rows.
    rows = [np.arange(N), np.arange(10, N), np.repeat(np.arange(20), rng.integers(0, 3, 20))]
    targets: Any = np.stack([labels, rng.permutation(labels), labels])
    if soft:
        targets = rng.dirichlet(np.ones(K), (3, N))
    found = train_networks(NETWORK, x, targets, rows, K, plan, seeds(3))
    logits = score(NETWORK, [one.state for one in found], x)
    for m, one in enumerate(found):
        np.testing.assert_allclose(logits[m], by_torch(x, targets[m], rows[m], plan, seeds(3)[m]), atol=2e-4)
        assert (len(one.train_accuracy), one.steps) == (6, 6 * -(-rows[m].size // 7))


def test_torch_is_left_as_it_was() -> None:
    x, labels = problem()
    before = torch.random.get_rng_state().clone()
    with torch.inference_mode():
        train_networks(NETWORK, x, labels[None], [np.arange(N)], K, TrainingPlan(0.01, 1, 8), seeds(1))
        assert torch.is_inference_mode_enabled()
    assert torch.equal(torch.random.get_rng_state(), before)


def test_running_accuracy_counts_before_the_update() -> None:
    x, labels = problem()
    one = train_networks(NETWORK, x, labels[None], [np.arange(N)], K, TrainingPlan(1e-9, 2, N), seeds(1))[0]
    start = NETWORK.initial(np.random.default_rng(child(seeds(1)[0], 0)))
    right = float((score(NETWORK, [start], x)[0].argmax(axis=1) == labels).mean())
    assert one.train_accuracy == (right, right)
    assert one.accuracy_after == ()


def test_each_model_ends_where_it_is_accurate_enough() -> None:
    x, labels = problem()
    rows, targets = [np.arange(N)] * 3, np.stack([labels, (x[:, 0] > 0).astype(np.int64), labels])
    plan = TrainingPlan(0.02, 60, 10, until_accuracy=0.9)
    found = train_networks(NETWORK, x, targets, rows, K, plan, seeds(3))
    assert len({len(one.train_accuracy) for one in found}) > 1
    for m, one in enumerate(found):
        assert len(one.accuracy_after) == len(one.train_accuracy) < 60
        assert max(one.accuracy_after[:-1], default=0.0) < 0.9 <= one.accuracy_after[-1]
        logits = score(NETWORK, [one.state], x)[0]
        assert float((logits.argmax(axis=1) == targets[m]).mean()) == one.accuracy_after[-1]
        # The same number of epochs without the rule is the same model.
        plan = TrainingPlan(0.02, len(one.train_accuracy), 10)
        plain = train_networks(NETWORK, x, targets, rows, K, plan, seeds(3))[m]
        np.testing.assert_allclose(score(NETWORK, [plain.state], x)[0], logits, atol=1e-5)


def test_patience_keeps_the_model_of_the_lowest_validation_loss() -> None:
    x, labels = problem()
    checks, truth = problem(5)
    rows, targets = [np.arange(N), np.arange(10, N), np.arange(N)], np.stack([labels, labels, labels[::-1]])
    plan = TrainingPlan(0.02, 40, 10, patience=3)
    found = train_networks(NETWORK, x, targets, rows, K, plan, seeds(3), validation=(checks, truth))
    assert len({one.steps for one in found}) > 1
    for m, one in enumerate(found):
        updates = -(-rows[m].size // 10)
        losses = dict(one.validation_curve)
        assert list(losses) == list(range(updates, one.steps + 1, updates))
        assert one.best_step == min(losses, key=lambda step: losses[step])
        assert one.steps == one.best_step + 3 * updates < one.planned_steps
        given = torch.tensor(score(NETWORK, [one.state], checks)[0])
        assert losses[one.best_step] == pytest.approx(float(torch.nn.functional.cross_entropy(
            given, torch.tensor(truth))), abs=1e-9)
        # As many epochs without the rule are the same model.
        shorter = TrainingPlan(0.02, one.best_step // updates, 10)
        plain = train_networks(NETWORK, x, targets, rows, K, shorter, seeds(3))[m]
        np.testing.assert_allclose(score(NETWORK, [plain.state], x), score(NETWORK, [one.state], x), atol=1e-5)


def test_new_targets_are_asked_for_with_the_logits_of_the_moment() -> None:
    x, labels = problem()
    asked: list[tuple[list[int], np.ndarray]] = []
    soft = np.eye(K)[np.stack([labels, labels[::-1], labels])]
    rows = [np.arange(N), np.arange(5), np.arange(N)]

    def hook(places: np.ndarray, logits: np.ndarray) -> np.ndarray:
        asked.append((places.tolist(), logits))
        return np.asarray(np.eye(K)[np.full((len(places), N), 2)])

    found = train_networks(NETWORK, x, soft, rows, K, TrainingPlan(0.05, 2, 10), seeds(3), hook)
    assert [places for places, _ in asked] == [[0, 2], [1]]
    once = train_networks(NETWORK, x, soft, rows, K, TrainingPlan(0.05, 1, 10), seeds(3))
    np.testing.assert_allclose(asked[0][1], score(NETWORK, [once[0].state, once[2].state], x), atol=1e-5)
    plain = train_networks(NETWORK, x, soft, rows, K, TrainingPlan(0.05, 2, 10), seeds(3))
    for m in range(3):
        moved, kept = (score(NETWORK, [one[m].state], x)[0, :5, 2].mean() for one in (found, plain))
        assert moved > kept + 0.1


def test_what_fills_up_a_batch_does_not_reach_a_normalisation() -> None:
    """25 rows in batches of 16: the mean that a normalisation runs is that of 16 and then 9 rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(25, 1, 9, 9)).astype(np.float32) + 5.0
    network = Resnet18(width=1).network((1, 9, 9), 2)
    # A rate this small leaves the weights as they were.
    one = train_networks(network, x, np.zeros((1, 25), dtype=np.int64), [np.arange(25)], 2, TrainingPlan(1e-12, 1, 16),
                         seeds(1))[0]
    start = network.initial(np.random.default_rng(child(seeds(1)[0], 0)))
    order = np.random.default_rng(child(seeds(1)[0], 1)).permutation(25)
    made = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(start["stem.weight"]), padding=1)
    mean = torch.zeros(1)
    for part in torch.tensor(order).split(16):
        mean = 0.9 * mean + 0.1 * made[part].mean((0, 2, 3))
    np.testing.assert_allclose(one.state["stem.mean"], mean.numpy(), rtol=1e-4)


def test_divergence_is_said_in_one_line() -> None:
    x, labels = problem()
    with refused(UsageError, "diverged in epoch 1 with a learning rate of 1e"):
        train_networks(NETWORK, x, labels[None], [np.arange(N)], K, TrainingPlan(1e38, 3, 5), seeds(1))
