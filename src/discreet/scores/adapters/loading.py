"""Hugging Face sequence classifiers and PEFT adapters of them, loaded whole or not at all.

transformers fills what is missing in a checkpoint with random numbers and goes on. Scores of a random head leak
nothing, so an audit of one passes: here it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core.errors import InputError
from discreet.encode.models import local_only, quiet
from discreet.scores.adapters.scorer import Dtype
from discreet.train.base import need as package
from discreet.train.transformer.loading import dtype_name, missing_weights

ADAPTER = "adapter_config.json"
HEADS = ("score.weight", "classifier.weight", "classifier.out_proj.weight", "classification_head.out_proj.weight")
TOKENIZERS = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "tokenizer.model", "spiece.model")
SINGLE = "regression"
SEVERAL = "multi_label_classification"


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A model in evaluation mode on the CPU, its tokeniser, and the kind of adapter that was merged into it."""

    model: Any
    tokenizer: Any
    adapter: str | None = None


def need(module: str, extra: str = "fit", purpose: str = "scoring with a transformer") -> Any:
    """A package of an extra, or MissingExtraError."""
    return package(module, extra, purpose)


def load(spec: str, dtype: Dtype) -> Loaded:
    """The classifier in a local folder, or by its name on the hub.

    Code that comes with a model is never run. Raises InputError for what is no whole sequence classifier,
    MissingExtraError without torch and transformers, or, for an adapter, without peft.
    """
    need("torch")
    with quiet(need("transformers")):
        folder = adapter_folder(spec)
        model, adapter = _classifier(spec, dtype) if folder is None else _adapted(spec, folder, dtype)
        own = folder is not None and any((folder / name).is_file() for name in TOKENIZERS)
        source = spec if folder is None else str(folder) if own else str(model.name_or_path)
        tokenizer = _called(spec, need("transformers").AutoTokenizer.from_pretrained, source,
                            local_files_only=local_only(source))
    problem = getattr(model.config, "problem_type", None)
    if problem in (SINGLE, SEVERAL):
        raise InputError(f"{spec}: its problem type is {problem}; expected one class of several for each text "
                         f"(single_label_classification)")
    return Loaded(model.eval(), tokenizer, adapter)


def adapter_folder(spec: str) -> Path | None:
    """Where the files of an adapter lie; None for a model that is none."""
    here = Path(spec)
    if spec and here.exists():
        if not here.is_dir():
            raise InputError(f"{spec} is a file; expected the folder of a model")
        return here if (here / ADAPTER).is_file() else None
    if spec.startswith((".", "/", "~")) or spec.count("/") > 1 or not spec:
        raise InputError(f"there is no folder {spec!r}; expected a model's folder, its name on the hub, python:… or "
                         f"http://…")
    hub, local = need("huggingface_hub"), local_only(spec)
    try:
        hub.hf_hub_download(spec, ADAPTER, local_files_only=local)
    except Exception:
        # Whatever is wrong with the name, loading the model will say.
        return None
    return Path(_called(spec, hub.snapshot_download, spec, local_files_only=local))


def _classifier(spec: str, dtype: Dtype, own: frozenset[str] = frozenset(), **more: Any) -> tuple[Any, None]:
    transformers = need("transformers")
    model, info = _called(
        spec, transformers.AutoModelForSequenceClassification.from_pretrained, spec, output_loading_info=True,
        trust_remote_code=False, local_files_only=local_only(spec),
        **{dtype_name(transformers): getattr(need("torch"), dtype)}, **more)
    lacking = sorted(missing_weights(info) - own)
    if lacking:
        raise InputError(f"{spec}: {len(lacking)} of its weights are missing ({lacking[0][:60]}), and would be random; "
                         f"expected a classifier that was trained to the end")
    return model, None


def _adapted(spec: str, folder: Path, dtype: Dtype) -> tuple[Any, str]:
    peft = need("peft", "train", "scoring with a PEFT adapter")
    config = _called(spec, peft.PeftConfig.from_pretrained, str(folder))
    if str(getattr(config.task_type, "value", config.task_type)) != "SEQ_CLS":
        raise InputError(f"{spec}: its task type is {config.task_type}; expected SEQ_CLS, a sequence classifier")
    weights = _called(spec, peft.utils.load_peft_weights, str(folder), device="cpu")
    heads = {key.removeprefix("base_model.model."): value for key, value in weights.items()
             if key.endswith(HEADS) and "lora_" not in key}
    # The base model knows nothing of the adapter's classes: unasked, it would get a random head of two.
    more = {} if not heads else {"num_labels": int(next(iter(heads.values())).shape[0])}
    if heads and (folder / "config.json").is_file():
        more = {"config": _called(spec, need("transformers").AutoConfig.from_pretrained, str(folder))}
    brought = frozenset(key.removeprefix("base_model.model.") for key in weights if "lora_" not in key)
    mismatched = {"ignore_mismatched_sizes": True} if heads else {}
    base = str(config.base_model_name_or_path)
    model, _ = _classifier(base, dtype, brought, **more, **mismatched)
    model = _called(spec, peft.PeftModel.from_pretrained, model, str(folder))
    if hasattr(model, "merge_and_unload"):
        model = _called(spec, model.merge_and_unload)
    return model, str(getattr(config.peft_type, "value", config.peft_type)).lower()


def _called(spec: str, function: Any, *args: Any, **options: Any) -> Any:
    """`function(…)`, whatever it raises as one line."""
    try:
        return function(*args, **options)
    except Exception as error:
        raise InputError(f"{spec}: it cannot be loaded ({type(error).__name__}); expected the folder, or the hub name, "
                         f"of a whole Hugging Face sequence classifier whose code is part of transformers") from error
