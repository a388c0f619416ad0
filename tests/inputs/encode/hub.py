"""A made-up hub on the loopback: what the client of the Hugging Face hub asks for, of folders on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tests.heavy import need
from tests.inputs.endpoints.scripted import serving

COMMIT = "0" * 40


@contextmanager
def hub(models: dict[str, Path], cache: Path) -> Iterator[list[str]]:
    """The client asks this hub, and keeps what it fetches in `cache`; yields the files that it has asked for."""
    asked: list[str] = []

    def named(request: Request) -> Path | None:
        return models.get(f"{request.path_params['owner']}/{request.path_params['name']}")

    async def listed(request: Request) -> Response:
        folder = named(request)
        if folder is None:
            return JSONResponse({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
        files = [one for one in sorted(folder.iterdir()) if one.is_file()]
        if "/tree/" in request.url.path:
            return JSONResponse([{"type": "file", "path": one.name, "size": one.stat().st_size,
                                  "oid": hashlib.sha256(one.read_bytes()).hexdigest()} for one in files])
        name = f"{request.path_params['owner']}/{request.path_params['name']}"
        return JSONResponse({"id": name, "modelId": name, "sha": COMMIT,
                             "siblings": [{"rfilename": one.name} for one in files]})

    async def sent(request: Request) -> Response:
        folder = named(request)
        path = None if folder is None else folder / request.path_params["file"]
        if path is None or not path.is_file():
            return JSONResponse({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})
        body = path.read_bytes()
        if request.method == "GET":
            asked.append(f"{request.path_params['name']}/{path.name}")
        headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()}"', "X-Repo-Commit": COMMIT}
        return Response(body, headers=headers, media_type="application/octet-stream")

    async def root(request: Request) -> Response:
        return Response(b"")

    models_at = "/v1/api/models/{owner}/{name}"
    app = Starlette(routes=[Route("/v1", root), Route(models_at + "/revision/{revision}", listed),
                            Route(models_at + "/tree/{revision}", listed),
                            Route("/v1/{owner}/{name}/resolve/{revision}/{file:path}", sent)])
    constants = need("huggingface_hub.constants")
    with serving(app) as url, pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "ENDPOINT", url)
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
        patch.setattr(constants, "HF_HUB_CACHE", str(cache))
        patch.setattr(constants, "HF_HUB_OFFLINE", False)
        patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        yield asked
