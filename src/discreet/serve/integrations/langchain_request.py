"""What a LangChain message or input says of the request: whose words are in it, and what was retrieved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from discreet.core.errors import need
from discreet.core.records import Code
from discreet.inputs.messages import TooDeepError, asked_of, says_words_alone
from discreet.serve.integrations.withhold import Withholder

need("langchain_core.messages", "the LangChain middleware", "langchain")

from langchain_core.messages import (  # noqa: E402
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

RETRIEVED = ("context", "documents")
"""Fields of a state or an input whose texts and documents were retrieved."""
ROLES = {HumanMessage: "user", AIMessage: "assistant", SystemMessage: "system", ToolMessage: "tool",
         FunctionMessage: "function"}
UserWords = Callable[[Any], str | None]


def judged(withholder: Withholder, content: Any, messages: Sequence[BaseMessage], fields: Mapping[str, Any],
            user_words: str | None, *, calls: bool = False) -> Code:
    """The code of a content in its request: `fields` are those of the state or the input, `calls` as of an `Answer`."""
    told = [_plain(one) for one in messages]
    try:
        question, turns = asked_of(told)
    except TooDeepError:
        return "privacy/not_judged"
    retrieved = [*(fields.get(name) for name in RETRIEVED), *(getattr(one, "artifact", None) for one in messages)]
    return withholder.judge(content, question, turns, sources=list(_passages(retrieved)), user_words=user_words,
                            calls=calls and says_words_alone(told))


def _plain(message: BaseMessage) -> dict[str, Any]:
    """A message as JSON, with what else of an earlier answer a model reads."""
    more = {name: getattr(message, name, None) for name in ("tool_calls", "invalid_tool_calls", "additional_kwargs")}
    return {"role": _role(message), "content": message.content, **more}


def _role(message: BaseMessage) -> str:
    if isinstance(message, ChatMessage):
        return str(message.role)
    return next((role for kind, role in ROLES.items() if isinstance(message, kind)), "")


def _passages(given: Any, deepest: int = 10) -> Iterator[str]:
    """The texts of documents at or below a value, and strings; of other objects nothing is known."""
    if isinstance(given, str):
        yield given
    elif isinstance(getattr(given, "page_content", None), str):
        yield given.page_content
    elif deepest and isinstance(given, Mapping | list | tuple):
        for one in given.values() if isinstance(given, Mapping) else given:
            yield from _passages(one, deepest - 1)


ASKED = ("messages", "input", "question", "query")
"""Keys of what a chain is given that hold the request: LangChain's own chains take `input`, `question` or `query`."""


def messages_of(given: Any) -> list[BaseMessage]:
    """The messages of what a chain is given: a string is the one of a user."""
    if isinstance(given, Mapping):
        given = next((given[name] for name in ASKED if given.get(name) is not None), None)
    found = given.to_messages() if hasattr(given, "to_messages") else given
    if isinstance(found, str):
        return [HumanMessage(found)]
    return [one for one in found if isinstance(one, BaseMessage)] if isinstance(found, list) else []
