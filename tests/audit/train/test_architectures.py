"""Every architecture against torch's own modules with the same numbers."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.train.recipes.tokens import hashed_ids, words_of

torch = pytest.importorskip("torch")

from discreet.audit.train.loop import Network  # noqa: E402
from discreet.audit.train.recipes.images import TOGETHER, Cnn, Resnet18  # noqa: E402
from discreet.audit.train.recipes.mlp import Mlp  # noqa: E402
from discreet.audit.train.recipes.tokens import Rnn, TokenTransformer  # noqa: E402


def begun(network: Network, models: int = 1) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """States that are nowhere zero or one, alone and stacked, in double precision."""
    rng = np.random.default_rng(0)
    starts = [{name: torch.tensor(np.abs(one) + 0.1 if "variance" in name else one + 0.1 * rng.normal(size=one.shape),
                                  dtype=torch.float64)
               for name, one in network.initial(np.random.default_rng(m)).items()} for m in range(models)]
    return starts, {name: torch.stack([one[name] for one in starts]) for name in starts[0]}


def test_perceptrons_are_stacks_of_linear_layers() -> None:
    network = Mlp(hidden=6, layers=2).network((4,), 3)
    starts, params = begun(network, 2)
    rows = torch.tensor(np.random.default_rng(1).normal(size=(2, 5, 4)))
    logits, hidden = network.forward(params, rows, training=False)
    for m, one in enumerate(starts):
        inner = (rows[m] @ one["weight0"] + one["bias0"]).relu()
        inner = (inner @ one["weight1"] + one["bias1"]).relu()
        torch.testing.assert_close(hidden[m], inner)
        torch.testing.assert_close(logits[m], inner @ one["weight2"] + one["bias2"])


def test_cnn_models_are_the_groups_of_one_convolution() -> None:
    network = Cnn(width=3, hidden=5).network((2, 9, 8), 4)
    starts, params = begun(network, 3)
    images = torch.tensor(np.random.default_rng(1).normal(size=(3, 6, 2, 9, 8)))
    logits, hidden = network.forward(params, images, training=False)
    assert hidden.shape == (3, 6, 5)
    for m, one in enumerate(starts):
        net = torch.nn.Sequential(
            torch.nn.Conv2d(2, 3, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(3, 6, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
            torch.nn.Linear(24, 5), torch.nn.ReLU(), torch.nn.Linear(5, 4)).double()
        given = [one["conv0"], one["conv0_bias"], one["conv1"], one["conv1_bias"], one["dense"].T, one["dense_bias"][0],
                 one["head"].T, one["head_bias"][0]]
        with torch.no_grad():
            for mine, theirs in zip(net.parameters(), given, strict=True):
                mine.copy_(theirs)
            torch.testing.assert_close(logits[m], net(images[m]))


def test_a_gpu_takes_several_cnns(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Cnn(width=2, hidden=2).network((1, 8, 8), 2)
    for there, together in ((True, TOGETHER), (False, 1)):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert network.together == together


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_rnn_is_that_of_torch_on_each_text_alone(kind: Any) -> None:
    network = Rnn(vocabulary=11, embedding=4, hidden=3, kind=kind).network((7,), 2)
    (one,), params = begun(network)
    made: Any = (torch.nn.LSTM if kind == "lstm" else torch.nn.GRU)(4, 3, batch_first=True).double()
    with torch.no_grad():
        for mine, name in zip(made.parameters(), ("into", "round", "into_bias", "round_bias"), strict=True):
            mine.copy_(one[name])
    texts = [[3, 5, 10], [1], [2, 4, 6, 8, 9]]
    ids = torch.tensor([text + [0] * (7 - len(text)) for text in texts])
    logits, _ = network.forward(params, ids[None], training=False)
    for row, text in enumerate(texts):
        state = made(one["words"][text][None])[0][0].mean(0)
        torch.testing.assert_close(logits[0, row], one["head"] @ state + one["head_bias"])


def test_a_text_of_no_word_has_a_score() -> None:
    small: dict[str, Any] = {"vocabulary": 5, "tokens": 4}
    for recipe in (Rnn(**small), Rnn(kind="gru", **small), TokenTransformer(width=6, heads=2, **small)):
        network = recipe.network((4,), 2)
        logits, hidden = network.forward(begun(network)[1], torch.zeros(1, 3, 4, dtype=torch.int64), training=False)
        assert torch.isfinite(logits).all()
        assert torch.isfinite(hidden).all()


def test_encoder_is_that_of_torch_on_each_text_alone() -> None:
    network = TokenTransformer(vocabulary=11, tokens=6, width=8, layers=2, heads=2).network((6,), 3)
    (one,), params = begun(network)
    layers = []
    for layer in range(2):
        made = torch.nn.TransformerEncoderLayer(8, 2, 32, dropout=0.0, activation="gelu", batch_first=True,
                                                norm_first=True).double()
        names = ("look", "look_bias", "mix", "mix_bias", "up", "up_bias", "down", "down_bias", "norm0", "norm0_bias",
                 "norm1", "norm1_bias")
        with torch.no_grad():
            for mine, name in zip(made.parameters(), names, strict=True):
                mine.copy_(one[f"{layer}.{name}"])
        layers.append(made.train())
    texts = [[3, 5, 10], [1], [2, 4, 6, 8, 9]]
    ids = torch.tensor([text + [0] * (6 - len(text)) for text in texts])
    logits, _ = network.forward(params, ids[None], training=False)
    for row, text in enumerate(texts):
        states = (one["words"][text] + one["places"][: len(text)])[None]
        for made in layers:
            states = made(states)
        pooled = torch.nn.functional.layer_norm(states[0].mean(0), (8,), one["norm"], one["norm_bias"])
        torch.testing.assert_close(logits[0, row], one["head"] @ pooled + one["head_bias"])


def residual(image: Any, one: dict[str, Any], width: int) -> Any:
    """Logits of ResNet-18 in evaluation, written out: blocks of two convolutions, a 1×1 where the shape changes."""
    def conv(name: str, given: Any, stride: int = 1) -> Any:
        weight = one[f"{name}.weight"]
        made = torch.nn.Conv2d(weight.shape[1], weight.shape[0], weight.shape[2], stride, weight.shape[2] // 2,
                               bias=False).double()
        norm = torch.nn.BatchNorm2d(weight.shape[0]).double().eval()
        with torch.no_grad():
            made.weight.copy_(weight)
            for mine, part in ((norm.weight, "scale"), (norm.bias, "shift"), (norm.running_mean, "mean"),
                               (norm.running_var, "variance")):
                mine.copy_(one[f"{name}.{part}"])
        return norm(made(given))

    image = conv("stem", image).relu()
    for stage in range(4):
        down = 2 if stage else 1
        inner = conv(f"{stage}.0.second", conv(f"{stage}.0.first", image, down).relu())
        image = (inner + (conv(f"{stage}.0.short", image, 2) if stage else image)).relu()
        image = (image + conv(f"{stage}.1.second", conv(f"{stage}.1.first", image).relu())).relu()
    assert image.shape[1:] == (8 * width, 2, 2)
    return image.mean((2, 3)) @ one["head"].T + one["head_bias"]


def test_resnet_is_its_blocks_written_out() -> None:
    network = Resnet18(width=2).network((3, 12, 12), 4)
    (one,), params = begun(network)
    images = torch.tensor(np.random.default_rng(1).normal(size=(5, 3, 12, 12)))
    with torch.no_grad():
        logits, _ = network.forward(params, images[None], training=False)
        torch.testing.assert_close(logits[0], residual(images, one, 2))


def test_words() -> None:
    assert words_of("Don't STOP, it's 3_4 Ünal…") == ["don't", "stop", "it's", "3", "4", "ünal"]
    assert words_of("if (a->B != 0x1F) {", code=True) == ["if", "(", "a", "-", ">", "B", "!", "=", "0x1F", ")", "{"]
    assert words_of(" \n") == []


def test_hashed() -> None:
    ids = hashed_ids(["one two one", ""], 50, 4)
    one, two = (1 + zlib.crc32(word.encode()) % 49 for word in ("one", "two"))
    assert ids.tolist() == [[one, two, one, 0], [0, 0, 0, 0]]
    assert ids.dtype == np.int64


def test_head_and_tail() -> None:
    text = "a1 b2 c3 d4 e5 f6 g7"
    each = dict(zip(text.split(), hashed_ids(text.split(), 10**6, 1)[:, 0].tolist(), strict=True))
    for length, kept in ((7, text), (5, "a1 b2 c3 f6 g7"), (2, "a1 g7"), (1, "a1")):
        assert hashed_ids([text], 10**6, length).tolist() == [[each[word] for word in kept.split()]]


@given(st.lists(st.text(max_size=40), max_size=4), st.integers(2, 30), st.integers(1, 8), st.booleans())
def test_any_text_gives_numbers_in_range_of_its_own(texts: list[str], size: int, length: int, code: bool) -> None:
    ids = hashed_ids(texts, size, length, code=code)
    assert ids.shape == (len(texts), length)
    for text, row in zip(texts, ids, strict=True):
        there = min(length, len(words_of(text, code=code)))
        assert (row[:there] >= 1).all()
        assert (row[:there] < size).all()
        assert (row[there:] == 0).all()
        assert hashed_ids([text], size, length, code=code).tolist() == [row.tolist()]


def test_impossible_sizes() -> None:
    for vocabulary, length in ((1, 3), (5, 0)):
        with pytest.raises(ValueError, match="expected at least 2 and 1"):
            hashed_ids(["a"], vocabulary, length)
