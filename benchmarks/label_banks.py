"""Banks of label models against one model after another, on made-up rows of the sizes of Census and FashionMNIST.

`python benchmarks/label_banks.py [--network mlp|cnn] [--models 32] [--rows 26048] [--columns 104] [--batch 32]
[--updates 60] [--threads 2] [--processor] [--functional]`

Three or, with `--functional`, five ways, the same threads, in turns in one run, the quickest of `--turns` each:
  bank      fit_bank of M models, each with its own labels, order and seed
  recipe    recipe.fit, M times (one is timed)
  ordinary  nn.Sequential, torch.optim.Adam and a loop over batches as tutorials have it, M times (one is timed)
  vmap      nn.Sequential of M models by torch.func: functional_call under vmap, one backward pass (perceptrons only)
  grad      the same by vmap of grad
An epoch's cost is per update, so that rows are cut to `--updates` batches. Aim: bank at least 15 times ordinary for the
perceptron on 2 threads. Convolutional networks are one program on a GPU only.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import torch

from discreet.audit.train import Data
from discreet.audit.train.networks import NetworkRecipe, fit_bank
from discreet.audit.train.recipes.images import Cnn
from discreet.audit.train.recipes.mlp import Mlp


def ordinary(network: str, inputs: np.ndarray, labels: np.ndarray, batch: int, hidden: int, seed: int) -> None:
    """One model, one epoch."""
    generator = torch.Generator().manual_seed(seed)
    if network == "mlp":
        net: Any = torch.nn.Sequential(
            torch.nn.Linear(inputs.shape[1], hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, hidden // 2),
            torch.nn.ReLU(), torch.nn.Linear(hidden // 2, 2))
    else:
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
            torch.nn.Linear(32 * (inputs.shape[-1] // 4) ** 2, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 2))
    adam = torch.optim.Adam(net.parameters(), lr=0.001)
    x, y = torch.from_numpy(inputs), torch.from_numpy(labels)
    order: Any = torch.randperm(len(y), generator=generator)
    for rows in order.split(batch):
        adam.zero_grad()
        loss: Any = torch.nn.functional.cross_entropy(net(x[rows]), y[rows])
        loss.backward()
        adam.step()


def functional(inputs: np.ndarray, labels: np.ndarray, batch: int, hidden: int, *, by_grad: bool) -> None:
    """M models by torch.func, one epoch; parameters and Adam's state flat, as in our bank."""
    func: Any = torch.func
    nets = [torch.nn.Sequential(
        torch.nn.Linear(inputs.shape[1], hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, hidden // 2),
        torch.nn.ReLU(), torch.nn.Linear(hidden // 2, 2)) for _ in labels]
    stacked = func.stack_module_state(nets)[0]
    flat = torch.nn.Parameter(torch.cat([one.detach().reshape(-1) for one in stacked.values()]))
    flat.grad = torch.zeros_like(flat)
    sizes = [one.numel() for one in stacked.values()]
    params, grads = ({name: part.view(stacked[name].shape) for name, part in zip(stacked, cast(Any, one).split(sizes), strict=True)}
                     for one in (flat.detach(), flat.grad))
    adam = torch.optim.Adam([flat], lr=0.001, fused=True)
    x, y, models = torch.from_numpy(inputs), torch.from_numpy(labels), torch.arange(len(labels))[:, None]
    order: Any = torch.stack([torch.randperm(y.shape[1]) for _ in labels])
    if not by_grad:
        for name, one in params.items():
            one.requires_grad_().grad = grads[name]

    def loss(own: Any, rows: Any, truth: Any) -> Any:
        return torch.nn.functional.cross_entropy(func.functional_call(nets[0], own, (rows,)), truth)

    for rows in order.split(batch, dim=1):
        if by_grad:
            for name, one in func.vmap(func.grad(loss))(params, x[rows], y[models, rows]).items():
                grads[name].copy_(one)
        else:
            flat.grad.zero_()
            func.vmap(loss)(params, x[rows], y[models, rows]).sum().backward()
        adam.step()


def seconds(run: Callable[[], object], *, processor: bool) -> float:
    clock = time.process_time if processor else time.perf_counter
    began = clock()
    run()
    return clock() - began


def main() -> None:
    """Measure, and print one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", choices=("mlp", "cnn"), default="mlp")
    for name, value in (("models", 32), ("rows", 26048), ("columns", 104), ("side", 28), ("batch", 32), ("hidden", 64),
                        ("updates", 60), ("threads", 2), ("turns", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--processor", action="store_true", help="the processor's time, where others work beside it")
    parser.add_argument("--functional", action="store_true", help="time torch.func, too")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    rng = np.random.default_rng(0)
    rows = min(given.rows, given.updates * given.batch)
    shape = (rows, given.columns) if given.network == "mlp" else (rows, 1, given.side, given.side)
    inputs = rng.normal(size=shape).astype(np.float32)
    labels = rng.integers(0, 2, (given.models, rows))
    seeds = [np.random.SeedSequence(0, spawn_key=(m,)) for m in range(given.models)]
    recipe: NetworkRecipe = (Mlp if given.network == "mlp" else Cnn)(hidden=given.hidden, epochs=1, batch=given.batch)
    data, nothing = Data(inputs, labels[0]), Data(inputs[:0], labels[0, :0])
    ways: dict[str, Callable[[], object]] = {
        "bank": lambda: fit_bank(recipe, inputs, labels, 2, seeds),
        "recipe": lambda: recipe.fit(data, nothing, 2, seeds[0]),
        "ordinary": lambda: ordinary(given.network, inputs, labels[0], given.batch, given.hidden, 0),
    }
    if given.functional:
        ways |= {name: partial(functional, inputs, labels, given.batch, given.hidden, by_grad=name == "grad")
                 for name in ("vmap", "grad")}
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(given.turns):
        for name, run in ways.items():
            spent[name].append(seconds(run, processor=given.processor))
    best = {name: min(found) for name, found in spent.items()}
    ratios = {name: round(given.models * best[name] / best["bank"], 1) for name in ("recipe", "ordinary")}
    ratios |= {f"ordinary, {name}": round(given.models * best["ordinary"] / best[name], 1)
               for name in best.keys() - {"bank", "recipe", "ordinary"}}
    bank = fit_bank(recipe, inputs, labels[:4], 2, seeds[:4]).logits(inputs)
    alone = [recipe.fit(Data(inputs, labels[m]), nothing, 2, seeds[m]).logits(inputs) for m in range(4)]
    print(json.dumps({
        **vars(given), "per_update_ms": {name: round(1e3 * one * given.batch / rows, 3) for name, one in best.items()},
        "times_as_fast_as": ratios, "largest_difference_of_logits": float(np.abs(bank - np.array(alone)).max())}))
    if given.network == "mlp" and ratios["ordinary"] < 15:
        print("below the aim of 15", file=sys.stderr)


if __name__ == "__main__":
    main()
