from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from discreet.train.networks.mlp import Mlp  # noqa: E402


@pytest.mark.parametrize("widths", [(5, 3), (5, 4, 2), (5, 4, 6, 3)])
def test_closed_slopes_are_those_of_automatic_differentiation(widths: tuple[int, ...]) -> None:
    models, batch = 3, 7
    rng = np.random.default_rng(0)
    network = Mlp(widths)
    starts = [network.start(np.random.default_rng(m)) for m in range(models)]
    params = {name: torch.tensor(np.stack([one[name] for one in starts]), dtype=torch.float64) for name in starts[0]}
    # Biases begin at nought, where a wrong slope of theirs could hide.
    params = {name: (one + 0.1 * torch.tensor(rng.normal(size=one.shape))).requires_grad_()
              for name, one in params.items()}
    rows = torch.tensor(rng.normal(size=(models, batch, widths[0])))
    truth = torch.tensor(rng.dirichlet(np.ones(widths[-1]), (models, batch)))
    share = torch.tensor(rng.random((models, batch)))
    logits, _ = network.forward(params, rows, training=True)
    (-(truth * torch.log_softmax(logits, -1)).sum(-1) * share).sum().backward()
    into = {name: torch.full_like(one, 9.0) for name, one in params.items()}
    with torch.no_grad():
        again = network.slopes(params, rows, truth, share, into)
    torch.testing.assert_close(again, logits)
    for name, one in params.items():
        torch.testing.assert_close(into[name], one.grad)


def test_each_model_is_a_stack_of_linear_layers() -> None:
    network = Mlp((4, 6, 3))
    starts = [network.start(np.random.default_rng(m)) for m in range(2)]
    params = {name: torch.from_numpy(np.stack([one[name] for one in starts])) for name in starts[0]}
    rows = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    logits, hidden = network.forward(params, rows, training=False)
    for m, one in enumerate(starts):
        inner = np.maximum(rows[m].numpy() @ one["weight0"] + one["bias0"], 0.0)
        np.testing.assert_allclose(hidden[m].numpy(), inner, atol=1e-6)
        np.testing.assert_allclose(logits[m].numpy(), inner @ one["weight1"] + one["bias1"], atol=1e-6)
