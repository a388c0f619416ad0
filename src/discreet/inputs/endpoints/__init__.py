"""The one client for chat endpoints that speak the OpenAI protocol: `ChatEndpoint`."""

from discreet.inputs.endpoints.chat import ChatEndpoint, Message

__all__ = ["ChatEndpoint", "Message"]
