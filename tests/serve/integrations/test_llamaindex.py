"""The plug-in with the real LlamaIndex, in an environment of its own."""

from __future__ import annotations

import pytest
from tests.serve.integrations.environments import passed_in


@pytest.mark.services
@pytest.mark.enable_socket
def test_with_the_real_framework() -> None:
    passed_in("llamaindex", "real_llamaindex.py", 19)
