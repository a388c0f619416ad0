"""Training: `transformer:base=minilm` against transformers' Trainer on the same rows, batch, epochs and rate.

    OMP_NUM_THREADS=1 python -m benchmarks.training --data diasafety/train.jsonl.gz [--rows 384] [--write]

Every contender is a process of its own with one thread; runs are interleaved. What is timed goes from texts to a
trained model: loading the base, reading, training; not importing. Nobody evaluates or stops early. "two at once" is
two processes of ours side by side. With --write the table goes into docs/results/training_speed.md.
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
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from benchmarks.machine import machine

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results" / "training_speed.md"
BEGIN, END = "<!-- figures of benchmarks/training.py -->\n", "<!-- end of figures -->\n"
RATE = {"lora": 2e-3, "full": 1e-4}
MOST, EPOCHS, BATCH, PART, RANK = 128, 3, 32, 8, 64
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


def ours(texts: list[str], labels: list[int], regime: str) -> Any:
    from discreet.train.base import Data
    from discreet.train.spec import recipe_of

    data = Data(tuple(texts), np.array(labels))
    recipe = recipe_of({"name": "transformer", "regime": regime, "rank": RANK, "epochs": EPOCHS, "batch": BATCH,
                        "micro_batch": PART, "learning_rate": RATE[regime], "patience": None, "max_tokens": MOST})
    fitted = recipe.fit(data, data.take(np.zeros(0, np.int64)), len(set(labels)), np.random.SeedSequence(0))
    return {"steps": fitted.facts["steps"], "padding": fitted.facts["padding_share"], "score": fitted.logits}


def trainer(texts: list[str], labels: list[int], regime: str, fixed: bool) -> Any:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
    )

    from discreet.encode.presets import packaged_model

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
                folder, num_train_epochs=EPOCHS, per_device_train_batch_size=PART,
                gradient_accumulation_steps=BATCH // PART, learning_rate=RATE[regime], lr_scheduler_type="cosine",
                warmup_steps=0.05, weight_decay=0.0, max_grad_norm=1.0, use_cpu=True, save_strategy="no",
                eval_strategy="no", logging_strategy="no", report_to=[], disable_tqdm=True, seed=0))
        done.train()

    def score(wanted: list[str]) -> Any:
        model.eval()
        with torch.inference_mode():
            return np.concatenate([
                model(**tokenizer([text], truncation=True, max_length=MOST, return_tensors="pt")).logits.numpy()
                for text in wanted])

    return {"steps": done.state.global_step, "padding": None, "score": score}


def import_all(contender: str) -> None:
    """Before the clock starts: transformers imports what it needs when it is first asked for a name."""
    from peft import LoraConfig, get_peft_model  # noqa: F401
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertForSequenceClassification  # noqa: F401

    if contender == "ours":
        from discreet.train.recipes import transformer  # noqa: F401
    else:
        from transformers import DataCollatorWithPadding, Trainer, TrainingArguments  # noqa: F401

        from discreet.encode.presets import packaged_model  # noqa: F401


def one(path: Path, count: int, regime: str, contender: str) -> dict[str, Any]:
    """Train once, here."""
    import torch

    import_all(contender)
    torch.set_num_threads(1)
    texts, labels = rows_of(path, count + 200)
    kept, held = slice(0, count), slice(count, None)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    clock, busy = perf_counter(), process_time()
    if contender == "ours":
        found = ours(texts[kept], labels[kept], regime)
    else:
        found = trainer(texts[kept], labels[kept], regime, contender != "trainer")
    clock, busy = perf_counter() - clock, process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    right = float(np.mean(found["score"](texts[held]).argmax(axis=1) == np.array(labels[held])))
    return {"wall": clock, "cpu": busy, "peak_mb": peak / 1024, "imports_mb": before / 1024, "steps": found["steps"],
            "padding": found["padding"], "accuracy": right}


def started(args: argparse.Namespace, regime: str, contender: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.training", "--data", str(args.data), "--rows", str(args.rows),
               "--regimes", regime, "--one", contender]
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
    found = []
    for regime in args.regimes.split(","):
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in CONTENDERS}
        load = os.getloadavg()[0]
        for _ in range(args.repeat):
            for name in CONTENDERS:
                runs[name].append(finished(started(args, regime, name)))
        clock = perf_counter()
        pair = [finished(process) for process in [started(args, regime, "ours") for _ in range(2)]]
        clock = perf_counter() - clock
        least = {name: {key: min(run[key] for run in some) for key in ("wall", "cpu", "peak_mb")} | {
            key: some[0][key] for key in ("imports_mb", "steps", "padding", "accuracy")} for name, some in runs.items()}
        found.append({"regime": regime, "load": load, **least,
                      "two at once": {"wall": max(run["wall"] for run in pair), "cpu": max(run["cpu"] for run in pair),
                                      "peak_mb": max(run["peak_mb"] for run in pair)}})
    return found


def table(args: argparse.Namespace, found: list[dict[str, Any]]) -> str:
    facts = machine()
    lines = [f"{args.rows} rows, {EPOCHS} epochs, batch {BATCH} as {PART} × {BATCH // PART}, at most {MOST} tokens, "
             f"MiniLM, one thread; the least of {args.repeat} interleaved runs; {facts['cores']} cores "
             f"({facts['machine']}), Python {facts['python']}.", "",
             "| regime | contender | wall s | CPU s | ratio to ours: wall, CPU | peak MB | held-out accuracy | load before |",
             "|---|---|---|---|---|---|---|---|"]
    for row in found:
        mine = row["ours"]
        for name in (*CONTENDERS, "two at once"):
            one = row[name]
            right = f"{one['accuracy']:.3f}" if "accuracy" in one else "–"
            lines.append(f"| {row['regime']} | {name} | {one['wall']:.1f} | {one['cpu']:.1f} | "
                         f"{one['wall'] / mine['wall']:.2f}, **{one['cpu'] / mine['cpu']:.2f}** | {one['peak_mb']:.0f} | "
                         f"{right} | {row['load']:.1f} |")
    padding = ", ".join(f"{row['regime']} {row['ours']['padding']:.1%}" for row in found)
    return "\n".join([*lines, "", f"Padding computed by ours: {padding}.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="rows with text and label, .jsonl or .jsonl.gz")
    parser.add_argument("--rows", type=int, default=384)
    parser.add_argument("--regimes", default="lora,full")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--one", choices=CONTENDERS, help="train once here and print one line")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one(args.data, args.rows, args.regimes, args.one)))
        return
    found = measured(args)
    print(json.dumps(found, indent=1))
    print(said := table(args, found))
    if args.write:
        before, _, rest = RESULTS.read_text(encoding="utf-8").partition(BEGIN)
        RESULTS.write_text(before + BEGIN + said + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
