"""A Hugging Face sequence classifier, or a PEFT adapter of one, as a function of texts: each text as if it were alone.

transformers fills what is missing in a checkpoint with random numbers and goes on. Scores of a random head leak
nothing, so an audit of one passes: here it is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.scores.adapters.scorer import DTYPES, Dtype, Settings
from discreet.audit.train.transformer.classifier import called, dtype_name, missing_weights
from discreet.audit.train.transformer.reading import (
    AUTO,
    Reader,
    Tokens,
    length_batches,
    padded,
    prompt_of,
    share_seen,
    token_limit,
    unused,
)
from discreet.core.errors import InputError, UsageError
from discreet.core.errors import need as package
from discreet.core.types import FloatArray
from discreet.inputs.encode.models import local_only, quiet

ADAPTER = "adapter_config.json"
HEADS = ("score.weight", "classifier.weight", "classifier.out_proj.weight", "classification_head.out_proj.weight")
TOKENIZERS = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "tokenizer.model", "spiece.model")
PIECE = 2**26
need = partial(package, extra="fit", purpose="scoring with a transformer")


class Transformer:
    """A classifier that AutoModelForSequenceClassification loads, or a PEFT adapter of one.

    Texts of like length go together, padded on the right. Where the model has no padding token, texts are padded with
    one that none of them holds; so the last token that is not padding, which decoders are pooled at, is the text's.
    `loaded` is a model in evaluation mode and its tokeniser, which stay where they are; without it both are loaded by
    `spec`. Raises InputError where the model is not whole, or does not go with its tokeniser; UsageError for settings
    that it cannot be run with.
    """

    kind: Any = "logit"

    def __init__(self, spec: str, settings: Settings, loaded: tuple[Any, Any] | None = None) -> None:
        self.name, self._torch = spec, need("torch")
        if loaded is None:
            model, tokenizer, self._adapter = load(spec, settings.dtype)
            self._device = _device(self._torch, settings.device)
            self._model, self._settings = model.to(self._device), settings
        else:
            (model, tokenizer), self._adapter = loaded, None
            check_problem(model, spec)
            self._model, self._device = model, model.device
            given = str(model.dtype).removeprefix("torch.")
            self._settings = settings if given not in DTYPES else replace(settings, dtype=given)
        self._texts = model.config.get_text_config()
        self._vocabulary = int(model.get_input_embeddings().num_embeddings)
        # Some configurations say -1 where they have none.
        self._own_pad, self._spare_pad = (token if token is not None and 0 <= token < self._vocabulary else None
                                          for token in (self._texts.pad_token_id, tokenizer.pad_token_id))
        self._sees_behind: bool | None = None
        self._chat = settings.chat or (settings.prompt == AUTO and bool(getattr(tokenizer, "chat_template", None)))
        self.read = Reader(tokenizer, _max_tokens(spec, settings, tokenizer, self._texts), spec,
                           chat=self._chat, prompt=prompt_of(settings.prompt, chat=self._chat))
        names = dict(model.config.id2label or {})
        whole = sorted(names) == list(range(int(model.config.num_labels)))
        self.classes = tuple(re.sub(r"\s+", " ", str(names[place])) for place in sorted(names)) if whole else None

    def fingerprint(self, probes: Sequence[str]) -> str:
        """By weights, configuration, tokeniser, settings and versions; `probes` are not needed."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self._model.state_dict().items()):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
            for piece in tensor.detach().contiguous().flatten().view(self._torch.uint8).split(PIECE):
                digest.update(piece.cpu().numpy().tobytes())
        config = {key: value for key, value in self._model.config.to_dict().items() if key != "_name_or_path"}
        config["pad_token_id"] = self._own_pad
        versions = [self._torch.__version__, need("transformers").__version__]
        said = [config, self.read.digest(), self._settings.dtype, self._chat, versions]
        digest.update(json.dumps(said, sort_keys=True, default=str).encode())
        return digest.hexdigest()

    def outputs(self, texts: Sequence[str]) -> FloatArray:
        """As `Scorer`: logits, as many columns as the model has classes."""
        rows = self.read(texts)
        found: list[Any] = [None] * len(rows)
        for places in length_batches(rows, self._settings.batch):
            for place, logits in zip(places, self._logits([rows[place] for place in places]), strict=True):
                found[place] = logits
        return np.stack(found)

    def facts(self, texts: Sequence[str]) -> Mapping[str, str]:
        """Type, precision, adapter, how texts are put, the limit on tokens and the share of them that the model saw."""
        seen, prompt = share_seen(self.read(texts)), self.read.prompt
        said = {"model_type": str(self._model.config.model_type), "dtype": self._settings.dtype,
                "chat_template": "yes" if self._chat else "no",
                "prompt": f"{prompt.name} ({prompt.source})" if prompt.text else prompt.name,
                "max_tokens": str(self.read.max_tokens), "tokens_seen": f"{seen:.4f}"}
        return said if self._adapter is None else {**said, "adapter": self._adapter}

    def _logits(self, rows: Sequence[Tokens]) -> FloatArray:
        torch = self._torch
        self._check_ids(rows)
        pad = self._own_pad
        if pad is None:
            pad = unused(rows, self._spare_pad, self._vocabulary)
            self._texts.pad_token_id = pad
        ids, mask = (torch.from_numpy(part).to(self._device) for part in padded(rows, pad))
        try:
            with torch.inference_mode():
                logits = self._model(input_ids=ids, attention_mask=mask).logits
        except torch.cuda.OutOfMemoryError:
            raise UsageError(f"{self.name}: a batch of {len(rows)} texts of up to {ids.shape[1]} tokens does not fit "
                             f"into the device's memory; expected a smaller batch, or fewer tokens") from None
        found: FloatArray = logits.float().cpu().numpy().astype(np.float64)
        return found

    def _check_ids(self, rows: Sequence[Tokens]) -> None:
        highest = max(int(row.ids.max()) for row in rows)
        if highest >= self._vocabulary:
            raise InputError(f"{self.name}: its tokeniser has the token {highest}, its model only {self._vocabulary:,} "
                             f"tokens; expected the tokeniser that it was trained with")
        if self._own_pad is not None and any((row.ids == self._own_pad).any() for row in rows):
            if self._sees_behind is None:
                self._sees_behind = self._reads_behind_padding(self._own_pad)
            if not self._sees_behind:
                raise InputError(f"{self.name}: its padding token stands in texts, and this version of transformers "
                                 f"reads a text up to its first one; expected a newer transformers, or a padding token "
                                 f"of its own")

    def _reads_behind_padding(self, pad: int) -> bool:
        """Whether what follows a padding token inside a text counts; older versions pool a decoder before it."""
        one, other, third = [token for token in range(self._vocabulary) if token != pad][-3:]
        found = []
        # One at a time: two rows of one batch may be rounded differently though they are alike.
        for last in (other, third):
            ids = self._torch.tensor([[one, pad, last]], device=self._device)
            with self._torch.inference_mode():
                found.append(self._model(input_ids=ids, attention_mask=self._torch.ones_like(ids)).logits)
        return not bool((found[0] == found[1]).all())


def _device(torch: Any, name: str | None) -> Any:
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise UsageError(f"torch has no device {name!r} here; expected cpu, or one such as cuda:0 where there is one"
                         ) from None
    return device


def _max_tokens(spec: str, settings: Settings, tokenizer: Any, config: Any) -> int:
    limit = token_limit(tokenizer, config)
    if settings.max_tokens is None:
        if limit is None:
            raise UsageError(f"{spec}: neither the model nor its tokeniser has a limit on tokens; expected max tokens")
        return limit
    if limit is not None and settings.max_tokens > limit:
        raise UsageError(f"max tokens is {settings.max_tokens:,}: expected at most {limit:,}, the limit of {spec}")
    return settings.max_tokens


def load(spec: str, dtype: Dtype) -> tuple[Any, Any, str | None]:
    """The classifier in a local folder, or by its name on the hub, in evaluation mode on the CPU.

    With its tokeniser, and the kind of adapter that was merged into it. Code that comes with a model is never run.
    Raises InputError for what is no whole sequence classifier, MissingExtraError without torch and transformers, or,
    for an adapter, without peft.
    """
    need("torch")
    with quiet(need("transformers")):
        folder = adapter_folder(spec)
        model, adapter = (_classifier(spec, dtype), None) if folder is None else _adapted(spec, folder, dtype)
        own = folder is not None and any((folder / name).is_file() for name in TOKENIZERS)
        source = spec if folder is None else str(folder) if own else str(model.name_or_path)
        tokenizer = called(spec, need("transformers").AutoTokenizer.from_pretrained, source,
                           local_files_only=local_only(source))
    check_problem(model, spec)
    return model.eval(), tokenizer, adapter


def check_problem(model: Any, spec: str) -> None:
    """InputError, beginning with `spec`, for a model that does not choose one class of several for a text."""
    problem = getattr(model.config, "problem_type", None)
    if problem in ("regression", "multi_label_classification"):
        raise InputError(f"{spec}: its problem type is {problem}; expected one class of several for each text "
                         f"(single_label_classification)")


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
    return Path(called(spec, hub.snapshot_download, spec, local_files_only=local))


def _classifier(spec: str, dtype: Dtype, own: frozenset[str] = frozenset(), **more: Any) -> Any:
    transformers = need("transformers")
    model, info = called(
        spec, transformers.AutoModelForSequenceClassification.from_pretrained, spec, output_loading_info=True,
        trust_remote_code=False, local_files_only=local_only(spec),
        **{dtype_name(transformers): getattr(need("torch"), dtype)}, **more)
    lacking = sorted(missing_weights(info) - own)
    if lacking:
        raise InputError(f"{spec}: {len(lacking)} of its weights are missing ({lacking[0][:60]}), and would be random; "
                         f"expected a classifier that was trained to the end")
    return model


def _adapted(spec: str, folder: Path, dtype: Dtype) -> tuple[Any, str]:
    peft = package("peft", "scoring with a PEFT adapter", "train")
    config = called(spec, peft.PeftConfig.from_pretrained, str(folder))
    if str(getattr(config.task_type, "value", config.task_type)) != "SEQ_CLS":
        raise InputError(f"{spec}: its task type is {config.task_type}; expected SEQ_CLS, a sequence classifier")
    weights = called(spec, peft.utils.load_peft_weights, str(folder), device="cpu")
    heads = {key.removeprefix("base_model.model."): value for key, value in weights.items()
             if key.endswith(HEADS) and "lora_" not in key}
    # The base model knows nothing of the adapter's classes: unasked, it would get a random head of two.
    more = {} if not heads else {"num_labels": int(next(iter(heads.values())).shape[0])}
    if heads and (folder / "config.json").is_file():
        more = {"config": called(spec, need("transformers").AutoConfig.from_pretrained, str(folder))}
    brought = frozenset(key.removeprefix("base_model.model.") for key in weights if "lora_" not in key)
    mismatched = {"ignore_mismatched_sizes": True} if heads else {}
    base = str(config.base_model_name_or_path)
    model = _classifier(base, dtype, brought, **more, **mismatched)
    model = called(spec, peft.PeftModel.from_pretrained, model, str(folder))
    if hasattr(model, "merge_and_unload"):
        model = called(spec, model.merge_and_unload)
    return model, str(getattr(config.peft_type, "value", config.peft_type)).lower()
