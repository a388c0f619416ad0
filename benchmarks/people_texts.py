"""Texts that tell profiles of the survey's adults in 2 to 6 attributes, by the templates of `people.yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.random import Generator

from discreet.core.types import FloatArray, IntArray
from discreet.guard.population.columns import Column

WORDS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("people.yaml").read_text(encoding="utf-8"))
ASKED = ("age", "sex", "race", "hispanic_origin", "country_of_birth", "education", "marital_status", "household_role",
         "occupation")


class Table:
    """The survey as a population of its own: who has what, and how many."""

    def __init__(self, codes: IntArray, weights: FloatArray, columns: Sequence[Column]) -> None:
        self.codes, self.weights, self.columns = codes, weights, list(columns)
        self.at = {column.name: i for i, column in enumerate(columns)}
        self.adults = np.flatnonzero(codes[:, self.at["age"]] >= 18)

    def value(self, row: int, name: str) -> str:
        return str(self.columns[self.at[name]].values[self.codes[row, self.at[name]]])

    def size(self, cluster: Mapping[str, Any]) -> int:
        """Rows with all of it."""
        fits = np.ones(len(self.codes), bool)
        for name, values in cluster.items():
            fits &= np.isin(self.codes[:, self.at[name]], self.columns[self.at[name]].codes(values) or [])
        return int(fits.sum())


def sayable(table: Table, row: int) -> dict[str, str]:
    """What of a person can be told in the words of `people.yaml`."""
    said = {name: table.value(row, name) for name in ASKED}
    return {name: value for name, value in said.items() if name in ("age", "sex") or value in WORDS[name]
            or (name == "country_of_birth" and value in WORDS["places_from"])}


def written(table: Table, row: int, rng: Generator) -> tuple[str, dict[str, Any]] | None:
    """A text about a person in 2 to 6 attributes, and the cluster that it tells; None where too little can be told."""
    can = sayable(table, row)
    number = int(rng.integers(2, 7))
    if len(can) < number:
        return None
    told = {name: can[name] for name in rng.permutation(sorted(can))[:number].tolist()}
    cluster: dict[str, Any] = {name: frozenset([int(v) if name == "age" else v]) for name, v in told.items()}
    speaker = bool(rng.random() < 0.3)
    sex = told.get("sex")
    third = {"male": ("He", "His", "his"), "female": ("She", "Her", "her")}.get(sex or "", ("They", "Their", "their"))
    sub, possessive, pos = ("I", "My", "my") if speaker else third
    one = sub in ("He", "She")
    verbs = {"has": "has" if one else "have", "lives": "lives" if one else "live", "works": "works" if one else "work",
             "is": "is" if one else "am" if speaker else "are", "was": "was" if one or speaker else "were"}

    def pick(options: Sequence[str]) -> str:
        return str(options[int(rng.integers(len(options)))])

    # The noun phrase: age, origin and job may stand in it, else in sentences of their own.
    words, sentences = [], []
    for name in ("race", "hispanic_origin"):
        if name in told:
            words.append(pick(WORDS[name][told[name]]))
    noun = {"male": "man", "female": "woman"}.get(sex or "", "person")
    if "occupation" in told:
        job = pick(WORDS["occupation"][told["occupation"]])
        if rng.random() < 0.5 and sex is None:
            noun = job
        else:
            sentences.append(pick(WORDS["sentences"]["occupation"]).format(
                Sub=sub, Pos=possessive, a_job=f"{'an' if job[0] in 'aeiouAEIOUX' else 'a'} {job}", job=job, **verbs))
    phrase = " ".join([*words, noun])
    if "age" in told:
        age = int(told["age"])
        style = int(rng.integers(4))
        if style == 0 and 20 <= age < 90:
            part, first = ("early", 0) if age % 10 < 4 else ("mid", 4) if age % 10 < 7 else ("late", 7)
            decade = age // 10 * 10
            last = first + 3 if first == 0 else first + 2
            cluster["age"] = frozenset(range(decade + first, decade + last + 1))
            phrase += f" in {pos} {part} {decade}s"
        elif style == 1:
            phrase += f", {age},"
        elif age >= 90:
            phrase = f"{age}-year-old {phrase}"
        else:
            phrase = f"{age}-year-old {phrase}" if style == 2 else f"{age} year old {phrase}"
    article = "an" if phrase[0] in "aeiouAEI8" or phrase.startswith(("18 ", "18-")) else "a"
    for name in ("education", "marital_status", "household_role"):
        if name in told:
            sentences.append(pick(WORDS[name][told[name]]).format(Sub=sub, Pos=possessive, pos=pos, **verbs))
    if "country_of_birth" in told:
        country = told["country_of_birth"].title()
        country = f"the {country}" if country == "Philippines" else country
        sentences.append(pick(WORDS["country_of_birth"]).format(Sub=sub, country=country, **verbs))
    opening = pick(WORDS["openings"]["speaker" if speaker else "third"]).format(
        np=f"{article} {phrase}", Np=f"{article.capitalize()} {phrase}").replace(",.", ".").replace(",,", ",")
    return " ".join([opening, *rng.permutation(np.array(sentences, dtype=object)).tolist()]), cluster
