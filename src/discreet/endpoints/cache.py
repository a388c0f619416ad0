"""Answers that were given before, under keyed hashes of the requests. They are text: nothing is kept unless asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.core.errors import UsageError
from discreet.core.files import KeyedHash, dump_json, why, write_atomic

KEY = "key"


class AnswerCache:
    """Answers in `folder`, a file each, readable for their owner alone.

    The key of the hashes is that of the deployment where DISCREET_HASH_KEY is set; else it is drawn once and lies
    beside the answers. Raises UsageError for a folder that cannot be written, InputError for a key that is none.
    """

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._keyed = KeyedHash.kept_in(self._folder / KEY)
        except OSError as error:
            raise UsageError(f"cannot keep answers in {folder}: {why(error)}; name a folder that can be written"
                             ) from None

    def get(self, request: Mapping[str, Any]) -> str | None:
        """The answer to a request of plain JSON values; None where there is none, or its file is not whole."""
        try:
            found = json.loads(self._file(request).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        answer = found.get("answer") if isinstance(found, dict) else None
        return answer if isinstance(answer, str) else None

    def put(self, request: Mapping[str, Any], answer: str) -> None:
        """Keep an answer, whole or not at all."""
        file = self._file(request)
        write_atomic(file, dump_json({"answer": answer}))
        file.chmod(0o600)

    def _file(self, request: Mapping[str, Any]) -> Path:
        said = json.dumps(request, sort_keys=True, ensure_ascii=True, allow_nan=False)
        return self._folder / f"{self._keyed.of(said)}.json"
