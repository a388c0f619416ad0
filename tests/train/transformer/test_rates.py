from __future__ import annotations

import pytest

from discreet.train.transformer.loading import REGIMES
from discreet.train.transformer.schedule import ENCODER, By, Rate, searched_rates, usual_rate

PAPER: By = "paper, Table 4"
NEAREST: By = "nearest row of the paper's Table 4"


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
])
def test_decoders_have_the_papers_rates(family: str, parameters: int, lora: float, full: float, by: By) -> None:
    """The four models of Table 4 by their sizes as classifiers, and others by the row nearest to them."""
    assert usual_rate(family, parameters, "lora") == Rate(lora, by)
    assert usual_rate(family, parameters, "full") == Rate(full, by)


def test_encoders_have_rates_of_ours() -> None:
    for family in ("bert", "distilbert", "roberta", "xlm-roberta", "mpnet", "deberta-v2"):
        for regime in REGIMES:
            found = usual_rate(family, 22_000_000, regime)
            assert found == Rate(ENCODER[regime], "ours, for encoders")


def test_a_search_surrounds_the_usual_rate() -> None:
    tried = searched_rates(Rate(1e-3, "given"))
    assert list(tried) == sorted(set(tried))
    assert tried[0] < 1e-3 < tried[-1]
    assert 1e-3 in tried
