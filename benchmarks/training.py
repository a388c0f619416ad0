"""Training: `transformer:base=minilm` against transformers' Trainer on the same rows, batch, epochs and rate.

    OMP_NUM_THREADS=1 python -m benchmarks.training --data diasafety/train.jsonl.gz [--rows 384] [--write]
    … --contenders ours,trainer --rows 1024 --epochs 1 --repeat 5 --no-pair    # the ratio to the Trainer alone
    … --contenders ours,trainer --regimes lora --rows 64 --epochs 1 --repeat 1 --no-pair    # does it run?

Every contender is a process of its own with one thread. In a turn each runs once, in the order of the turn before
turned round, so that a neighbour who comes or goes burdens both; a ratio is of one turn, and the table has the median
of the turns and the least and the most. What is timed goes from texts to a trained model: loading the base, reading,
training; not importing. The *loop* is the training alone, from the first batch to the last update. Nobody evaluates or
stops early. "two at once" is two processes of ours side by side. On a shared machine CPU time says more than wall
time. With --write the table goes into docs/results/training_speed.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.page import machine, replace_between

RATE = {"lora": 2e-3, "full": 1e-4}
MOST, BATCH, PART, RANK = 128, 32, 8, 64
CONTENDERS = ("ours", "trainer", "trainer, fixed length")


def rows_of(path: Path, count: int) -> tuple[list[str], list[int]]:
    """The first rows of each label, half each, in the order of the file."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as handle:
        found = [json.loads(line) for line in handle]
    names = sorted({str(row["label"]) for row in found})
    left, texts, labels = dict.fromkeys(names, count // len(names)), [], []
    for row in found:
        if left[str(row["label"])]:
            left[str(row["label"])] -= 1
            texts.append(row["text"])
            labels.append(names.index(str(row["label"])))
    return texts, labels


def timed(function: Callable[..., Any], into: dict[str, float]) -> Callable[..., Any]:
    """`function`, its wall and CPU seconds put into `into`."""
    def run(*args: Any, **options: Any) -> Any:
        clock, busy = perf_counter(), process_time()
        found = function(*args, **options)
        into.update(loop_wall=perf_counter() - clock, loop_cpu=process_time() - busy)
        return found

    return run


def ours(texts: list[str], labels: list[int], regime: str, epochs: int) -> Any:
    from discreet.audit.train import Data, recipe_of

    loop: dict[str, float] = {}
    module: Any = import_module("discreet.audit.train.recipes.transformer")
    module.train = timed(module.train, loop)
    data = Data(tuple(texts), np.array(labels))
    recipe = recipe_of({"name": "transformer", "regime": regime, "rank": RANK, "epochs": epochs, "batch": BATCH,
                        "micro_batch": PART, "learning_rate": RATE[regime], "patience": None, "max_tokens": MOST})
    fitted = recipe.fit(data, data.take(np.zeros(0, np.int64)), len(set(labels)), np.random.SeedSequence(0))
    return {"steps": fitted.facts["steps"], "padding": fitted.facts["padding_share"], "score": fitted.logits, **loop}


def trainer(texts: list[str], labels: list[int], regime: str, epochs: int, fixed: bool) -> Any:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
    )

    from discreet.inputs.encode.presets import packaged_model

    base = str(packaged_model())
    tokenizer = AutoTokenizer.from_pretrained(base)
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(base, num_labels=len(set(labels)))
    if regime == "lora":
        model = get_peft_model(model, LoraConfig(task_type="SEQ_CLS", r=RANK, lora_alpha=2 * RANK, lora_dropout=0.05,
                                                 target_modules=["query", "value"], bias="none"))
    read = tokenizer(texts, truncation=True, max_length=MOST, padding="max_length" if fixed else False)
    rows: Any = [{**{key: read[key][place] for key in read}, "labels": label} for place, label in enumerate(labels)]
    with tempfile.TemporaryDirectory() as folder:
        done = Trainer(
            model=model, train_dataset=rows, data_collator=DataCollatorWithPadding(tokenizer),
            args=TrainingArguments(
                folder, num_train_epochs=epochs, per_device_train_batch_size=PART,
                gradient_accumulation_steps=BATCH // PART, learning_rate=RATE[regime], lr_scheduler_type="cosine",
                warmup_steps=0.05, weight_decay=0.0, max_grad_norm=1.0, use_cpu=True, save_strategy="no",
                eval_strategy="no", logging_strategy="no", report_to=[], disable_tqdm=True, seed=0))
        loop: dict[str, float] = {}
        timed(done.train, loop)()

    def score(wanted: list[str]) -> Any:
        model.eval()
        with torch.inference_mode():
            return np.concatenate([
                model(**tokenizer([text], truncation=True, max_length=MOST, return_tensors="pt")).logits.numpy()
                for text in wanted])

    return {"steps": done.state.global_step, "padding": None, "score": score, **loop}


def import_all(contender: str) -> None:
    """Before the clock starts: transformers imports what it needs when it is first asked for a name."""
    from peft import LoraConfig, get_peft_model  # noqa: F401
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertForSequenceClassification  # noqa: F401

    if contender == "ours":
        pass
    else:
        from transformers import DataCollatorWithPadding, Trainer, TrainingArguments  # noqa: F401

        from discreet.inputs.encode.presets import packaged_model  # noqa: F401


def one(path: Path, count: int, regime: str, contender: str, epochs: int) -> dict[str, Any]:
    """Train once, here."""
    import torch

    import_all(contender)
    torch.set_num_threads(1)
    texts, labels = rows_of(path, count + 200)
    trained, held = slice(0, count), slice(count, None)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    clock, busy = perf_counter(), process_time()
    if contender == "ours":
        found = ours(texts[trained], labels[trained], regime, epochs)
    else:
        found = trainer(texts[trained], labels[trained], regime, epochs, contender != "trainer")
    clock, busy = perf_counter() - clock, process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    right = float(np.mean(found["score"](texts[held]).argmax(axis=1) == np.array(labels[held])))
    kept = {name: found[name] for name in ("loop_wall", "loop_cpu", "steps", "padding")}
    return {"wall": clock, "cpu": busy, **kept, "peak_mb": peak / 1024, "imports_mb": before / 1024, "accuracy": right}


def started(args: argparse.Namespace, regime: str, contender: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.training", "--data", str(args.data), "--rows", str(args.rows),
               "--regimes", regime, "--epochs", str(args.epochs), "--one", contender]
    quiet = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error",
             "HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    return subprocess.Popen(command, env={**os.environ, **quiet}, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    said, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"a contender ended with {process.returncode}")
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


def measured(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Every run of every turn, by regime; and "two at once" where it is asked for."""
    found = []
    for regime in args.regimes:
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in args.contenders}
        load = os.getloadavg()[0]
        for turn in range(args.repeat):
            for name in args.contenders[:: -1 if turn % 2 else 1]:
                runs[name].append(finished(started(args, regime, name)))
        pair = [finished(process) for process in [started(args, regime, "ours") for _ in range(2)]] if args.pair else []
        found.append({"regime": regime, "load": load, "runs": runs, "two at once": pair})
    return found


def table(args: argparse.Namespace, found: list[dict[str, Any]]) -> str:
    facts = machine()
    lines = [f"{args.rows} rows, {args.epochs} epochs, batch {BATCH} as {PART} × {BATCH // PART}, at most {MOST} "
             f"tokens, MiniLM, one thread; {args.repeat} turns; seconds are the least of them, ratios are to ours of "
             f"the same turn: median (least to most); {facts['cores']} cores ({facts['machine']}), Python "
             f"{facts['python']}.", "",
             "| regime | contender | CPU s | its loop | wall s | ratio of CPU | of the loop's CPU | of wall | peak MB "
             "| held-out accuracy | load before |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in found:
        mine = row["runs"]["ours"]
        for name, runs in row["runs"].items():
            ratios = " | ".join(spread([run[key] / base[key] for run, base in zip(runs, mine, strict=True)])
                                for key in ("cpu", "loop_cpu", "wall"))
            lines.append(f"| {row['regime']} | {name} | {seconds(runs, min)} | {ratios} | "
                         f"{min(run['peak_mb'] for run in runs):.0f} | {runs[0]['accuracy']:.3f} | {row['load']:.1f} |")
        if pair := row["two at once"]:
            lines.append(f"| {row['regime']} | two at once | {seconds(pair, max)} | – | – | – | "
                         f"{max(run['peak_mb'] for run in pair):.0f} | – | {row['load']:.1f} |")
    padding = ", ".join(f"{row['regime']} {row['runs']['ours'][0]['padding']:.1%}" for row in found)
    return "\n".join([*lines, "", f"Padding computed by ours: {padding}.", ""])


def seconds(runs: list[dict[str, Any]], of: Callable[..., float]) -> str:
    return " | ".join(f"{of(run[key] for run in runs):.1f}" for key in ("cpu", "loop_cpu", "wall"))


def spread(ratios: list[float]) -> str:
    said = f"**{median(ratios):.2f}**"
    return said if len(ratios) < 2 else f"{said} ({min(ratios):.2f} to {max(ratios):.2f})"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="rows with text and label, .jsonl or .jsonl.gz")
    parser.add_argument("--rows", type=int, default=384)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--regimes", type=lambda given: given.split(","), default=["lora", "full"])
    parser.add_argument("--contenders", type=lambda given: given.split(","), default=list(CONTENDERS),
                        help=f"some of {', '.join(CONTENDERS)}; ours among them")
    parser.add_argument("--repeat", type=int, default=2, help="turns")
    parser.add_argument("--pair", action=argparse.BooleanOptionalAction, default=True, help="two of ours at once, too")
    parser.add_argument("--one", choices=CONTENDERS, help="train once here and print one line")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if "ours" not in args.contenders or not set(args.contenders) <= set(CONTENDERS):
        parser.error(f"--contenders names some of {', '.join(CONTENDERS)}, ours among them")
    return args


def main() -> None:
    args = arguments()
    if args.one:
        print(json.dumps(one(args.data, args.rows, args.regimes[0], args.one, args.epochs)))
        return
    found = measured(args)
    print(json.dumps(found, indent=1))
    print(said := table(args, found))
    if args.write:
        replace_between("training_speed.md", "<!-- figures of benchmarks/training.py -->", "<!-- end of figures -->", said)


if __name__ == "__main__":
    main()
