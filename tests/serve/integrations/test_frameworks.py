"""The plug-ins with the real frameworks, each in an environment of its own."""

from __future__ import annotations

import pytest
from tests.serve.integrations.environments import passed_in


@pytest.mark.services
@pytest.mark.enable_socket
@pytest.mark.parametrize(("environment", "script", "tests"), [
    ("langchain", "real_langchain.py", 48), ("llamaindex", "real_llamaindex.py", 19)])
def test_with_the_real_framework(environment: str, script: str, tests: int) -> None:
    passed_in(environment, script, tests)
