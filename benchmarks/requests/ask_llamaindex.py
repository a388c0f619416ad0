"""LlamaIndex's own query engine, run in its environment: contents in as JSON lines, verdicts out as JSON lines.

    python ask_llamaindex.py < contents.jsonl > verdicts.jsonl

A content is retrieved by a retriever with fixed nodes, and answered by a model with a fixed answer. A query engine takes no earlier
messages: what is told elsewhere is the system prompt of the model.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from discreet import Guard
from discreet.serve.integrations.llamaindex import GuardedQueryEngine

Row = dict[str, Any]


class Fixed(BaseRetriever):  # type: ignore[misc]  # The framework is not installed with the linters.
    """Returns the passages of one content."""

    def __init__(self, passages: list[str]) -> None:
        super().__init__()
        self.passages = passages

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text=text), score=1.0) for text in self.passages]


class Says(CustomLLM):  # type: ignore[misc]
    """Answers with one text, by words where it streams."""

    text: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=100_000)

    def complete(self, prompt: str, formatted: bool = False, **more: Any) -> CompletionResponse:
        return CompletionResponse(text=self.text)

    def stream_complete(self, prompt: str, formatted: bool = False, **more: Any) -> Iterator[CompletionResponse]:
        said = ""
        for part in self.text.split(" "):
            delta = f" {part}" if said else part
            said += delta
            yield CompletionResponse(text=said, delta=delta)


def answered(given: Row, guard: Guard, report: Any) -> str:
    """The guarded answer of `RetrieverQueryEngine` with its default templates."""
    system = "\n".join(turn["text"] for turn in given["earlier"]) or None
    engine = RetrieverQueryEngine.from_args(Fixed(given["passages"]), streaming=given["stream"],
                                            llm=Says(text=given["answer"], system_prompt=system))
    safe = GuardedQueryEngine(engine, guard, report=report, user_words=given["way"] == "declared")
    found = safe.query(given["user"])
    return "".join(found.response_gen) if given["stream"] else str(found)


def main() -> None:
    guards = {name: Guard(name) for name in ("medical", "finance", "law")}
    for given in map(json.loads, sys.stdin):
        verdicts: list[Any] = []
        text = answered(given, guards[given["domain"]], verdicts.append)
        print(json.dumps({"code": verdicts[-1].code, "text": text}), flush=True)


if __name__ == "__main__":
    main()
