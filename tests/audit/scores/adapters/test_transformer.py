from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.scores.adapters.conftest import CORPUS, TEXTS, MakeModel, alone
from tests.heavy import need, quiet
from tests.tiny_models import pooled_before_the_first_padding

from discreet.audit.scores.adapters.scorer import Settings
from discreet.audit.scores.adapters.transformer import Transformer, adapter_folder
from discreet.core.errors import InputError, MissingExtraError, UsageError

KINDS = ("bert", "llama", "gemma")


def scored(folder: Path, batch: int = 4, **settings: Any) -> Transformer:
    return Transformer(str(folder), Settings(batch, **settings))


def refused(folder: Path, match: str, kind: type[Exception] = InputError, **settings: Any) -> None:
    with pytest.raises(kind, match=match):
        scored(folder, **settings).outputs(TEXTS)


def assert_alone(model: Transformer, folder: Path, texts: list[str]) -> None:
    """Neither batch mates nor padding are felt."""
    np.testing.assert_allclose(model.outputs(texts), np.stack([alone(folder, text) for text in texts]), rtol=0,
                               atol=1e-5)


@pytest.fixture(scope="module")
def folders(make_model: MakeModel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("models")
    return {kind: make_model(home / kind, kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_each_text_alone(folders: dict[str, Path], kind: str) -> None:
    """Whatever the batch; for decoders that is pooling at the last token."""
    for batch in (1, 3, 16):
        assert_alone(scored(folders[kind], batch), folders[kind], TEXTS)
    assert_alone(scored(folders[kind]), folders[kind], TEXTS[::-1])
    assert np.ptp(scored(folders[kind]).outputs(TEXTS), axis=0).min() > 1e-2


@pytest.mark.parametrize("pads", [{"tokenizer": {"pad_token": "</s>"}}, {},
                                  {"tokenizer": {"pad_token": "</s>"}, "pad_token_id": 1}])
def test_end_as_padding_pools_at_the_last_token(make_model: MakeModel, tmp_path: Path, pads: dict[str, Any]) -> None:
    """pad = eos in the tokeniser, or in the configuration too: the end of a turn stands inside the texts."""
    folder = make_model(tmp_path / "m", "llama", **pads)
    texts = [f"{CORPUS[0]}</s>{CORPUS[1]}", "short", f"{CORPUS[2]}</s>"]
    assert_alone(scored(folder), folder, texts)
    found, other = (scored(folder).outputs([text, "short"])[0] for text in (texts[0], f"{CORPUS[0]}</s>{CORPUS[3]}"))
    assert np.abs(other - found).max() > 1e-3


def test_pooling_before_the_first_padding_is_refused(make_model: MakeModel, tmp_path: Path, transformers: Any,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_model(tmp_path / "m", "llama", pad_token_id=1)
    expected = np.stack([alone(folder, text) for text in TEXTS])
    monkeypatch.setattr(transformers.LlamaForSequenceClassification, "forward", pooled_before_the_first_padding)
    model = scored(folder)
    np.testing.assert_allclose(model.outputs(TEXTS), expected, rtol=0, atol=1e-5)
    with pytest.raises(InputError, match="padding token stands in texts, and this version of transformers"):
        model.outputs([*TEXTS, f"{CORPUS[0]}</s>{CORPUS[1]}"])


def test_long_texts_keep_head_and_tail(folders: dict[str, Path]) -> None:
    model = scored(folders["bert"], max_tokens=12)
    plain = scored(folders["bert"])
    middles = [f"{CORPUS[0]} {middle} {CORPUS[1]}" for middle in ("bread rivers forms", "the form the form")]
    same, different = model.outputs(middles), plain.outputs(middles)
    assert np.abs(different[0] - different[1]).max() > 1e-3
    np.testing.assert_allclose(same[0], same[1], rtol=0, atol=1e-6)
    tails = model.outputs([f"{CORPUS[0]} {tail}" for tail in ("bread", "river")])
    assert np.abs(tails[0] - tails[1]).max() > 1e-3
    before = sum(row.before for row in plain.read(middles))
    assert float(model.facts(middles)["tokens_seen"]) == pytest.approx((24 - 4) / (before - 4), abs=1e-4)
    assert plain.facts(middles)["tokens_seen"] == "1.0000"
    assert plain.facts(middles)["max_tokens"] == "256"


def test_settings_that_cannot_be(folders: dict[str, Path]) -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("max tokens is 257: expected at most 256", {"max_tokens": 257}), ("max tokens is 1", {"max_tokens": 1}),
        ("batch is 0", {"batch": 0}), ("dtype is 'float16'", {"dtype": "float16"}),
        ("no device 'cuda:7'", {"device": "cuda:7"})]
    for match, settings in cases:
        refused(folders["bert"], match, UsageError, **settings)


def test_float32_unless_asked(make_model: MakeModel, tmp_path: Path, torch: Any, transformers: Any) -> None:
    """A checkpoint in bfloat16 is scored in float32: newer versions of transformers would keep it as it is."""
    folder = make_model(tmp_path / "m", "llama")
    with quiet():
        half = transformers.AutoModelForSequenceClassification.from_pretrained(str(folder), dtype=torch.bfloat16)
        half.save_pretrained(folder)
    full = scored(folder)
    assert {p.dtype for p in full._model.parameters()} == {torch.float32}
    assert full.facts(TEXTS)["dtype"] == "float32"
    asked = scored(folder, dtype="bfloat16")
    assert asked.facts(TEXTS)["dtype"] == "bfloat16"
    apart = np.abs(full.outputs(TEXTS) - asked.outputs(TEXTS)).max()
    assert 1e-5 < apart < 1.0
    assert full.fingerprint([]) != asked.fingerprint([])


def test_a_random_head_is_refused(make_model: MakeModel, tmp_path: Path) -> None:
    for kind, lacking in (("llama", "score.weight"), ("bert", "classifier.bias")):
        refused(make_model(tmp_path / kind, kind, head="Model"), f"of its weights are missing .{lacking}")


def test_what_is_no_classifier(make_model: MakeModel, tmp_path: Path, folders: dict[str, Path]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for name, match in (("empty", "cannot be loaded"), ("none", "there is no folder"), ("file", "is a file")):
        refused(tmp_path / name, match)
    several = make_model(tmp_path / "several", "bert", problem_type="multi_label_classification")
    refused(several, "multi_label_classification")
    small = shutil.copytree(folders["llama"], tmp_path / "small")
    refused(make_model(small, "bert", vocab_size=20), "its model only 20 tokens")


def test_classes_come_from_the_configuration(make_model: MakeModel, tmp_path: Path, folders: dict[str, Path]) -> None:
    named = make_model(tmp_path / "m", "bert", id2label={0: "safe", 1: "unsafe", 2: "other"})
    assert scored(named).classes == ("safe", "unsafe", "other")
    assert scored(folders["bert"]).classes == ("LABEL_0", "LABEL_1", "LABEL_2")


def test_fingerprints_tell_models_apart(make_model: MakeModel, tmp_path: Path, folders: dict[str, Path]) -> None:
    first = scored(folders["llama"])
    same = Transformer(str(shutil.copytree(folders["llama"], tmp_path / "copy")), Settings(3))
    before = first.fingerprint([])
    first.outputs(TEXTS)
    assert first.fingerprint([]) == before == same.fingerprint([])
    others = [make_model(tmp_path / "seed", "llama", seed=1), make_model(tmp_path / "pad", "llama", pad_token_id=1),
              shutil.copytree(folders["llama"], tmp_path / "tok")]
    tokenizer = json.loads((others[2] / "tokenizer.json").read_text())
    tokenizer["normalizer"] = {"type": "Lowercase"}
    (others[2] / "tokenizer.json").write_text(json.dumps(tokenizer))
    settings = [Settings(max_tokens=100), Settings(chat=True)]
    found = [scored(other).fingerprint([]) for other in others]
    found += [Transformer(str(folders["llama"]), setting).fingerprint([]) for setting in settings]
    assert len({before, *found}) == 6


def test_a_prompt_is_read_before_each_text(folders: dict[str, Path], tmp_path: Path, torch: Any,
                                           transformers: Any) -> None:
    """Beside what transformers gives for the rendered template, and for prompt, empty line and text."""
    file = tmp_path / "own.txt"
    file.write_text("Is the river named?\n")
    folder = folders["llama"]
    with quiet():
        model = transformers.AutoModelForSequenceClassification.from_pretrained(str(folder), dtype=torch.float32).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))

    def expected(system: str | None, *, chat: bool) -> np.ndarray:
        rows = []
        for text in TEXTS:
            turns = [{"role": "system", "content": system}] if system else []
            said = tokenizer.apply_chat_template([*turns, {"role": "user", "content": text}], tokenize=False)
            given = tokenizer(said if chat else f"{system}\n\n{text}", return_tensors="pt",
                              add_special_tokens=not chat)
            with torch.no_grad():
                rows.append(model(**given).logits[0].double().numpy())
        return np.stack(rows)

    safety = "You are a safety classifier. Read the following user message and determine whether it contains harmful " \
             "content."
    ours = "Is the river named?"
    paper = "safety (paper, appendix F)"
    ways = [(scored(folder, chat=True, prompt="safety"), expected(safety, chat=True), "yes", paper),
            (scored(folder, prompt="auto"), expected(safety, chat=True), "yes", paper),
            (scored(folder, chat=True), expected(None, chat=True), "yes", "none"),
            (scored(folder, chat=True, prompt=f"@{file}"), expected(ours, chat=True), "yes", "@own.txt (yours)"),
            (scored(folder, prompt=f"@{file}"), expected(ours, chat=False), "no", "@own.txt (yours)")]
    for model_read, wanted, template, prompt in ways:
        np.testing.assert_allclose(model_read.outputs(TEXTS), wanted, rtol=0, atol=1e-5)
        facts = model_read.facts(TEXTS)
        assert (facts["chat_template"], facts["prompt"]) == (template, prompt)
    prints = [one.fingerprint([]) for one, *_ in ways] + [scored(folder).fingerprint([])]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 5


def test_auto_leaves_texts_without_a_template_as_they_are(folders: dict[str, Path]) -> None:
    found, plain = (scored(folders["bert"], prompt=prompt) for prompt in ("auto", "none"))
    np.testing.assert_array_equal(found.outputs(TEXTS), plain.outputs(TEXTS))
    assert found.fingerprint([]) == plain.fingerprint([])
    assert found.facts(TEXTS)["prompt"] == "none"


@pytest.fixture(scope="module")
def adapters(make_model: MakeModel, tmp_path_factory: pytest.TempPathFactory, torch: Any, transformers: Any
             ) -> dict[str, Path]:
    """A base without a head, a LoRA adapter of it with one, and what that gives for each text alone."""
    peft = need("peft")
    home = tmp_path_factory.mktemp("adapters")
    base = make_model(home / "base", "llama", head="Model")
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(3)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(str(base), num_labels=3)
        made = peft.get_peft_model(model, peft.LoraConfig(
            task_type="SEQ_CLS", r=4, lora_alpha=16, target_modules=["q_proj", "v_proj"]))
        for key, value in made.named_parameters():
            if "lora_" in key or "score" in key:
                torch.nn.init.normal_(value, std=0.3)
        made.eval().save_pretrained(home / "lora")
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(base))
        with torch.no_grad():
            rows = [made(**tokenizer(text, return_tensors="pt")).logits.numpy() for text in TEXTS]
    np.save(home / "expected.npy", np.concatenate(rows))
    return {"base": base, "lora": home / "lora", "expected": home / "expected.npy"}


def test_an_adapter(adapters: dict[str, Path]) -> None:
    """Base without a head, adapter with one of three classes: unasked, peft would make a random head of two."""
    model = scored(adapters["lora"])
    np.testing.assert_allclose(model.outputs(TEXTS), np.load(adapters["expected"]), rtol=0, atol=1e-5)
    assert model.facts(TEXTS)["adapter"] == "lora"


def test_an_adapter_of_a_classifier_of_other_classes(adapters: dict[str, Path], tmp_path: Path,
                                                     transformers: Any) -> None:
    """The base has a head of two classes, the adapter one of three: the adapter's counts."""
    with quiet():
        headless = transformers.AutoModelForSequenceClassification.from_pretrained(str(adapters["base"]), num_labels=2)
        headless.save_pretrained(tmp_path / "base")
        transformers.AutoTokenizer.from_pretrained(str(adapters["base"])).save_pretrained(tmp_path / "base")
    adapter = shutil.copytree(adapters["lora"], tmp_path / "adapter")
    config = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(
        json.dumps({**config, "base_model_name_or_path": str(tmp_path / "base")}))
    found = scored(adapter).outputs(TEXTS)
    np.testing.assert_allclose(found, np.load(adapters["expected"]), rtol=0, atol=1e-5)


def test_adapters_that_are_no_classifiers(adapters: dict[str, Path], tmp_path: Path) -> None:
    causal = shutil.copytree(adapters["lora"], tmp_path / "causal")
    config = json.loads((causal / "adapter_config.json").read_text())
    (causal / "adapter_config.json").write_text(json.dumps({**config, "task_type": "CAUSAL_LM"}))
    with pytest.raises(InputError, match="expected SEQ_CLS"):
        scored(causal)
    headless = shutil.copytree(adapters["lora"], tmp_path / "headless")
    safetensors = need("safetensors.numpy")
    file = headless / "adapter_model.safetensors"
    weights = {key: value for key, value in safetensors.load_file(file).items() if "score" not in key}
    safetensors.save_file(weights, file)
    with pytest.raises(InputError, match=r"weights are missing \(score\.weight\)"):
        scored(headless)


def test_names_on_the_hub(adapters: dict[str, Path], folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    hub = need("huggingface_hub")

    def found(name: str, file: str, *, local_files_only: bool) -> None:
        if name != "org/adapter":
            raise hub.errors.EntryNotFoundError(file)

    monkeypatch.setattr(hub, "hf_hub_download", found)
    monkeypatch.setattr(hub, "snapshot_download", lambda name, **_: str(adapters["lora"]))
    monkeypatch.setattr("discreet.inputs.encode.models.reachable", lambda *_: True)
    assert adapter_folder("org/adapter") == adapters["lora"]
    assert adapter_folder("org/model") is None
    assert adapter_folder(str(folders["bert"])) is None
    for name in ("", "./x", "/x", "a/b/c", "~/x"):
        with pytest.raises(InputError, match="there is no folder"):
            adapter_folder(name)


def test_an_adapter_without_peft(adapters: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtraError, match=r"discreet\[train\]"):
        scored(adapters["lora"])
