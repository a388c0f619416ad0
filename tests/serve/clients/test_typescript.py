"""A client in TypeScript, generated from the document of the running service: it compiles strictly, and works."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.serve.clients.conftest import Proxy
from tests.serve.integrations.environments import packages

pytestmark = [pytest.mark.services, pytest.mark.enable_socket]
NPM = ("openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3")
COMPILED = ("--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom,dom.iterable",
            "--skipLibCheck")


def test_a_generated_client(proxy: Proxy, tmp_path: Path) -> None:
    installed = packages("typescript", *NPM) / "node_modules"
    (tmp_path / "node_modules").symlink_to(installed)
    shutil.copy(Path(__file__).parent / "real_typescript.mts", tmp_path / "client.mts")
    subprocess.run([installed / ".bin" / "openapi-typescript", f"{proxy.served.url}/openapi.json", "--output",
                    "api.d.ts", "--default-non-nullable", "false"], cwd=tmp_path, check=True)
    subprocess.run([installed / ".bin" / "tsc", *COMPILED, "client.mts"], cwd=tmp_path, check=True)
    ended = subprocess.run(["node", "client.mjs", proxy.served.url, proxy.tokens["caller"],
                            proxy.tokens["reviewer"]], cwd=tmp_path, check=True, stdout=subprocess.PIPE, text=True)
    assert json.loads(ended.stdout) == {
        "safe": "pass", "impossible": False, "flagged": ["block", "privacy/contextual"], "held": "pending",
        "ticket": "pending", "listed": [True], "refused": [404, "unknown_guard"],
        "answered": ["privacy/contextual", False],
        "reviewed": [1, "privacy/contextual", "released", "released", 403], "counts": 403}
