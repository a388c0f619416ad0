"""The example with a real MCP client and server, in an environment of its own."""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.serve.integrations.environments import ROOT, environment


@pytest.mark.services
@pytest.mark.enable_socket
def test_what_a_model_hands_to_tools_and_says_of_their_results() -> None:
    python = environment("service")
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    ended = subprocess.run([python, ROOT / "examples" / "mcp_client.py"], capture_output=True, text=True, check=False,
                           env=clean, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "find_note called", "mail_send withheld", "mail_send called", "delete_note withheld", "answer withheld",
        "answer Chest pain that comes with exercise should be seen by a doctor."]
    assert "mailed: Chest pain" in ended.stderr
    assert not {"litigator", "deleted"} & set(ended.stderr.replace(":", " ").split())
