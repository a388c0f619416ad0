"""LangChain's own chains and agents, run in their environment: contents in as JSON lines, verdicts out as JSON lines.

    python ask_langchain.py < contents.jsonl > verdicts.jsonl

A content is retrieved by a retriever with fixed passages, and answered by a model with a fixed answer.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_classic.chains import create_retrieval_chain  # type: ignore[import-not-found]
from langchain_classic.chains.combine_documents import create_stuff_documents_chain  # type: ignore[import-not-found]
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool

from discreet import Guard
from discreet.serve.integrations.langchain import GuardMiddleware, guarded

Row = dict[str, Any]
HISTORY = MessagesPlaceholder("chat_history", optional=True)


class Fixed(BaseRetriever):  # type: ignore[misc]  # The framework is not installed with the linters.
    """Returns the passages of one content."""

    passages: list[str]

    def _get_relevant_documents(self, query: str, **more: Any) -> list[Document]:
        return [Document(text, metadata={"source": "records.db"}) for text in self.passages]


class Model(GenericFakeChatModel):  # type: ignore[misc]
    """Answers with its messages in turn."""

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self


def prompt_of(given: Row) -> Any:
    """The prompt of the shape, whose slots have the names of LangChain, after the earlier messages."""
    roles = {"system": "system", "user": "human"}
    named = [(roles[one["role"]], one["content"].replace("{question}", "{input}")) for one in given["messages"]]
    return ChatPromptTemplate.from_messages([HISTORY, *named])


def in_chain(given: Row, guard: Guard, report: Any) -> str:
    """`create_retrieval_chain`, guarded; "question" gives the guard the human message as the model gets it."""
    prompt, retriever = prompt_of(given), Fixed(passages=given["passages"])
    documents = create_stuff_documents_chain(Model(messages=iter([AIMessage(given["answer"])])), prompt)
    chain = create_retrieval_chain(retriever, documents).pick("answer")

    def human(asked: Row) -> str:
        context = "\n\n".join(one.page_content for one in retriever.invoke(asked["input"]))
        return str(prompt.format_messages(input=asked["input"], context=context)[-1].content)

    ways: dict[str, Row] = {"undeclared": {}, "question": {"question": human},
                            "declared": {"user_words": lambda asked: asked["input"]}}
    asked = {"input": given["user"], "chat_history": _earlier(given)}
    return str(guarded(chain, guard, report=report, **ways[given["way"]]).invoke(asked))


def in_agent(given: Row, guard: Guard, report: Any) -> str:
    """An agent that calls a retriever as a tool, with the middleware."""
    @tool(response_format="content_and_artifact")  # type: ignore[untyped-decorator]
    def lookup(query: str) -> Any:
        """Search the records."""
        found = Fixed(passages=given["passages"]).invoke(query)
        return "\n\n".join(f"Source: {one.metadata}\nContent: {one.page_content}" for one in found), found

    options: Row = {"user_words": lambda state: given["user"]} if given["way"] == "declared" else {}
    said = [AIMessage("", tool_calls=[{"name": "lookup", "args": {"query": "records"}, "id": "call_1"}]),
            AIMessage(given["answer"])]
    before = _earlier(given)
    system = before.pop(0).content if before and isinstance(before[0], SystemMessage) else None
    agent = create_agent(Model(messages=iter(said)), tools=[lookup], system_prompt=system,
                         middleware=[GuardMiddleware(guard, report=report, **options)])
    return str(agent.invoke({"messages": [*before, HumanMessage(given["user"])]})["messages"][-1].content)


def _earlier(given: Row) -> list[Any]:
    """Messages before the user's; the result of a tool stands behind its call."""
    found: list[Any] = []
    for number, turn in enumerate(given["earlier"]):
        if turn["role"] == "tool":
            call = {"name": "lookup", "args": {"query": "records"}, "id": f"earlier_{number}"}
            found += [AIMessage("", tool_calls=[call]), ToolMessage(turn["text"], tool_call_id=call["id"])]
        else:
            kinds = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
            found.append(kinds[turn["role"]](turn["text"]))
    return found


def main() -> None:
    guards = {name: Guard(name) for name in ("medical", "finance", "law")}
    for given in map(json.loads, sys.stdin):
        verdicts: list[Any] = []
        asks = in_agent if given["shape"] == "langchain/agent-tool" else in_chain
        text = asks(given, guards[given["domain"]], verdicts.append)
        print(json.dumps({"code": verdicts[-1].code, "text": text}), flush=True)


if __name__ == "__main__":
    main()
