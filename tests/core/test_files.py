from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import UsageError
from discreet.core.files import (
    TEXT_KEYS,
    KeyedHash,
    add_line,
    atomic_writer,
    dump_json,
    progress,
    refuse_text,
    write_atomic,
)
from discreet.core.records import Estimate, Evidence


class TestAtomic:
    @pytest.mark.parametrize("content", ["naïve – text\n", b"\x00\xff"])
    def test_writes_whole(self, tmp_path: Path, content: bytes | str) -> None:
        write_atomic(tmp_path / "f", content)
        assert (tmp_path / "f").read_bytes() == (content if isinstance(content, bytes) else content.encode())
        assert os.listdir(tmp_path) == ["f"]

    @pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
    @pytest.mark.parametrize("before", [None, "old"])
    def test_a_failure_leaves_things_as_they_were(self, tmp_path: Path, failure: type[BaseException],
                                                  before: str | None) -> None:
        path = tmp_path / "f"
        if before is not None:
            path.write_text(before)

        def write_half() -> None:
            with atomic_writer(path) as handle:
                handle.write("half" * 100_000)
                raise failure

        with pytest.raises(failure):
            write_half()
        assert os.listdir(tmp_path) == ([] if before is None else ["f"])
        assert before is None or path.read_text() == before

    def test_the_target_is_not_there_until_the_end(self, tmp_path: Path) -> None:
        path = tmp_path / "f"
        with atomic_writer(path) as handle:
            handle.write("x")
            handle.flush()
            assert not path.exists()
        assert path.read_text() == "x"

    def test_keeps_mode_and_writes_through_links(self, tmp_path: Path) -> None:
        real, link = tmp_path / "real", tmp_path / "link"
        real.write_text("old")
        real.chmod(0o640)
        link.symlink_to(real)
        write_atomic(link, "new")
        assert link.is_symlink()
        assert real.read_text() == "new"
        assert stat.S_IMODE(real.stat().st_mode) == 0o640

    def test_a_new_file_gets_the_usual_mode(self, tmp_path: Path) -> None:
        (tmp_path / "plain").write_text("")
        write_atomic(tmp_path / "ours", "")
        assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode

    def test_devices_are_written_as_they_are(self) -> None:
        write_atomic("/dev/null", "x")
        assert not Path("/dev/null").is_file()

    def test_says_what_is_wrong(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="is a folder"):
            write_atomic(tmp_path, "x")
        with pytest.raises(UsageError, match="no such file or directory; name a file in a folder"):
            write_atomic(tmp_path / "none" / "f", "x")


class TestJson:
    def test_keeps_order_and_knows_records(self) -> None:
        value = {"b": Estimate(0.5, 0.4, 0.6), "a": Evidence("age", "third", 1, 2), "path": Path("x/y")}
        read = json.loads(dump_json(value))
        assert list(read) == ["b", "a", "path"]
        assert read["a"] == {"type": "age", "subject": "third", "start": 1, "end": 2}
        assert read["b"]["value"] == 0.5
        assert read["path"] == "x/y"

    def test_numpy_values_are_plain(self) -> None:
        assert dump_json([np.float32(0.5), np.int64(3), np.bool_(True), np.arange(2)]) == "[0.5, 3, true, [0, 1]]"

    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), np.float32("nan"), np.array([1.0, np.inf])])
    def test_no_nan(self, bad: Any) -> None:
        with pytest.raises(ValueError, match="JSON compliant"):
            dump_json({"value": bad})

    def test_names_the_type_only(self) -> None:
        class Secret:
            def __repr__(self) -> str:
                return "the text"

        with pytest.raises(TypeError, match=r"^a Secret has no JSON form: give it to_json\(\)$"):
            dump_json(Secret())


class TestKeyedHash:
    @given(st.binary(min_size=16, max_size=40), st.text())
    def test_is_hmac_sha256(self, key: bytes, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        block = key.ljust(64, b"\0")
        inner = hashlib.sha256(bytes(b ^ 0x36 for b in block) + data).digest()
        outer = hashlib.sha256(bytes(b ^ 0x5C for b in block) + inner).hexdigest()  # RFC 2104, spelled out
        assert KeyedHash(key).of(text) == outer == hmac.new(key, data, "sha256").hexdigest()

    def test_fresh_keys_differ_and_are_not_shown(self) -> None:
        one, two = KeyedHash.fresh(), KeyedHash.fresh()
        assert one.of("x") == one.of("x") != two.of("x")
        assert repr(one) == "KeyedHash(run key)"

    def test_files_and_texts_agree(self, tmp_path: Path) -> None:
        data = os.urandom(3_000_000)
        (tmp_path / "f").write_bytes(data)
        keyed = KeyedHash.fresh()
        assert keyed.of_file(tmp_path / "f") == keyed.of(data)

    def test_environment(self) -> None:
        keyed = KeyedHash.from_environment({"DISCREET_HASH_KEY": "ab" * 32})
        assert (keyed.scope, keyed.of("x")) == ("deployment", KeyedHash(b"\xab" * 32).of("x"))
        assert KeyedHash.from_environment({}).scope == "run"
        with pytest.raises(UsageError, match="is not hexadecimal"):
            KeyedHash.from_environment({"DISCREET_HASH_KEY": "zz" * 32})
        with pytest.raises(UsageError, match="at least 16"):
            KeyedHash.from_environment({"DISCREET_HASH_KEY": "ab"})


class TestLog:
    def test_writes_lines(self, tmp_path: Path) -> None:
        log = tmp_path / "log.jsonl"
        add_line(log, "start", n=3, answers=12, text=None, file="a.jsonl")
        add_line(log, "end", nested={"n_sources": 4})
        first, second = (json.loads(line) for line in log.read_text().splitlines())
        assert datetime.fromisoformat(first.pop("time")).tzinfo == UTC
        assert first == {"event": "start", "n": 3, "answers": 12, "text": None, "file": "a.jsonl"}
        assert second["nested"] == {"n_sources": 4}

    @pytest.mark.parametrize("key", [*sorted(TEXT_KEYS), "user_prompt", "Answer", "retrieved.text", "raw-content"])
    @pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"x": [{"y": v}]}, lambda v: {v: 1}])
    def test_refuses_text(self, tmp_path: Path, key: str, wrap: Any) -> None:
        for facts in ({key: wrap("MARKED")}, {"deep": {"er": [{key: wrap("MARKED")}]}}):
            with pytest.raises(ValueError, match="may hold the text") as caught:
                add_line(tmp_path / "log.jsonl", "event", **facts)
            assert "MARKED" not in str(caught.value)
        assert os.listdir(tmp_path) == []

    def test_context_is_no_text(self) -> None:
        refuse_text({"context": "run", "textual_mode": "plain", "answers": [1, 2.5, True, None]})


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestProgress:
    def test_lines_now_and_then(self) -> None:
        stream, times = io.StringIO(), iter([0.0, 4.0, 11.0, 15.0, 30.0])
        passed = progress("abcd", 4, label="judged", stream=stream, clock=lambda: next(times))
        assert list(passed) == list("abcd")
        assert stream.getvalue() == "judged: 2 of 4\njudged: 4 of 4\n"

    def test_quiet_is_silent(self) -> None:
        stream = Terminal()
        assert list(progress(range(5), quiet=True, stream=stream, clock=lambda: 1e9)) == list(range(5))
        assert stream.getvalue() == ""

    def test_a_bar_on_a_terminal(self) -> None:
        stream = Terminal()
        assert list(progress(range(5), 5, label="judged", stream=stream)) == list(range(5))
        assert "judged" in stream.getvalue()
