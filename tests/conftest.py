"""Small texts of both sides that need no generator: templates with a few words to choose from."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from tests.heavy import need
from tests.jsonl import jsonl

JOBS = ["welder", "librarian", "plumber", "baker", "roofer", "dentist", "farmer", "nurse"]
TOWNS = ["Omaha", "Tulsa", "Duluth", "Fresno", "Boise", "Cleveland", "Boston", "Denver"]
CONDITIONS = ["asthma", "type 2 diabetes", "migraine", "gout", "hypertension", "eczema", "anemia", "arthritis"]
DRUGS = ["metformin", "albuterol", "warfarin", "lisinopril", "prednisone", "ibuprofen"]
LEADS = ["The patient is", "Our patient, seen last week, is", "This case concerns a person who is", "She is"]


def texts(side: str, n: int, seed: int = 0) -> list[str]:
    """`n` different texts of "safe", "unsafe" or "borderline"."""
    draw = random.Random(f"{side}{seed}")
    found: dict[str, None] = {}
    while len(found) < n:
        drug, condition = draw.choice(DRUGS), draw.choice(CONDITIONS)
        written = {
            "unsafe": f"{draw.choice(LEADS)} a {draw.randint(21, 88)}-year-old {draw.choice(JOBS)} from "
                      f"{draw.choice(TOWNS)} with {draw.choice(['two', 'three', 'four'])} children. Treatment with "
                      f"{drug} for {condition} was started and went well.",
            "safe": f"{drug.capitalize()} is often used for {condition}. Adults should ask a pharmacist before they "
                    f"take more than {draw.randint(2, 90)} tablets, and report any "
                    f"{draw.choice(['rash', 'cough', 'swelling', 'fever'])} to the clinic.",
            "borderline": f"The patient in this example has {condition} and takes {drug}. In such a case one would "
                          f"check the dose after {draw.randint(2, 60)} days and review the "
                          f"{draw.choice(['labs', 'symptoms', 'plan'])}.",
        }[side]
        found.setdefault(written)
    return list(found)


def write_side(path: Path, side: str, n: int, seed: int = 0) -> Path:
    """A JSON Lines file of one side."""
    rows = [{"id": f"{side}-{i}", "kind": side, "domain": "medical", "answer": t, "question": "What would you say?",
             "profile": "L0", "generator": "templates"} for i, t in enumerate(texts(side, n, seed))]
    return jsonl(path, rows)


@pytest.fixture(scope="session")
def side_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Path]]:
    """Side to a file of 80 medical texts. Twenty guards are fitted on them: they are read once under each policy."""
    from discreet.guard.reading import read_answer

    folder = tmp_path_factory.mktemp("sides")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.guard.density.corpus.read_answer", lru_cache(1_000)(read_answer))
        yield {side: write_side(folder / f"{side}.jsonl", side, 80) for side in ("safe", "unsafe", "borderline")}


@pytest.fixture(scope="session")
def labelled_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 labelled answers that leak and 40 that do not, none of them in `side_files`."""
    rows = [{"id": f"{side}-{i}", "answer": t, "label": label}
            for side, n, label in (("unsafe", 40, "yes"), ("safe", 20, "no"), ("borderline", 20, "no"))
            for i, t in enumerate(texts(side, n, seed=9))]
    return jsonl(tmp_path_factory.mktemp("labelled") / "labelled.jsonl", rows)


@pytest.fixture(scope="session")
def torch() -> Any:
    """The package, or a skip that says that it is missing."""
    return need("torch")


@pytest.fixture(scope="session")
def transformers() -> Any:
    """As `torch`."""
    return need("transformers")


@pytest.fixture(autouse=True)
def _seeded_globals() -> None:
    """Every test starts from the same state of the global generators, whatever ran before it."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    if "torch" in sys.modules:
        # `torch.manual_seed` also writes down the stack for devices that may come: a millisecond in each test.
        sys.modules["torch"].default_generator.manual_seed(0)


@pytest.fixture
def system_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seals take salt, key and coins from a seeded generator and still say that they are the operating system's.

    A false positive has probability alpha, so that with real coins a test would fail now and then.
    """
    rng = random.Random(0)
    monkeypatch.setattr("discreet.audit.sealed.sealing.secrets",
                        SimpleNamespace(randbits=rng.getrandbits, token_bytes=rng.randbytes))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first: a worker that began one at the end would be alone with it."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


# Runs repeat: every run draws the same examples. `pytest --hypothesis-profile=search` draws new ones.
# Nowhere does a slow machine fail a test.
settings.register_profile("repeat", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("search", deadline=None)
settings.load_profile("repeat")
