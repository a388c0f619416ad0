"""What names a paraphraser: `rules`, or `llm:http://host/v1,model=NAME`, and so on for others.

A name; then, behind a colon, options as `name=value` between commas. The first may be a value alone: it is that of the
paraphraser's first option.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any, cast, get_type_hints

from discreet.core.errors import UsageError
from discreet.studies.paraphrase.base import Paraphraser, paraphrasers
from discreet.studies.paraphrase.write import write_paraphrases

_NAMED = re.compile(r"\s*\w+\s*=")


def paraphraser_of(spec: str, seed: int) -> Callable[[Path, int, Path], Path]:
    """From a spec to the function that `discreet.studies.mia.worlds.Study.paraphraser` is: data, n, folder to a file.

    Raises UsageError for a name or option that is not there, and a value that cannot be.
    """
    return partial(write_paraphrases, paraphraser=made(spec), seed=seed)


def made(spec: str) -> Paraphraser:
    """The paraphraser of a spec. Raises UsageError."""
    name, colon, rest = spec.partition(":")
    maker = paraphrasers[name.strip()]
    hints = get_type_hints(maker)
    options = fields(cast(Any, maker))
    given: dict[str, Any] = {}
    for number, part in enumerate(rest.split(",") if colon else []):
        key, _, value = (one.strip() for one in part.partition("="))
        if number == 0 and options and not _NAMED.match(part):
            key, value = options[0].name, part.strip()
        if key not in {one.name for one in options} or key in given:
            known = ", ".join(one.name for one in options) or "none"
            raise UsageError(f"the paraphraser {name!r} has no option {key!r}, or was given it twice; expected each "
                             f"of its options once at most: {known}")
        given[key] = _value(name, key, value, hints[key])
    lacking = [one.name for one in options if one.name not in given and one.default is MISSING]
    if lacking:
        raise UsageError(f"the paraphraser {name!r} needs {' and '.join(lacking)}; expected "
                         f"{name}:{','.join(f'{one}=…' for one in lacking)}")
    try:
        return cast(Paraphraser, maker(**given))
    except ValueError as error:
        raise UsageError(f"the paraphraser {name!r}: {error}") from None


def _value(name: str, key: str, value: str, hint: Any) -> Any:
    for kind, called in ((int, "a whole number"), (float, "a number")):
        if hint is kind:
            try:
                return kind(value)
            except ValueError:
                raise UsageError(f"the paraphraser {name!r}: {key} is {value[:40]!r}; expected {called}") from None
    if not value:
        raise UsageError(f"the paraphraser {name!r}: {key} is empty; expected a value")
    return value
