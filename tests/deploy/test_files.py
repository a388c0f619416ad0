"""The files of deploy/: read as what they are, and checked by their makers' tools in an environment of its own."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.serve.integrations.environments import environment

from discreet.serve.settings import Settings
from discreet.serve.telemetry import Metrics

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
USER = "10001"


def objects() -> list[dict[str, Any]]:
    names = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    return [one for name in names for one in yaml.safe_load_all((KUBERNETES / name).read_text())]


@pytest.fixture
def settings() -> Settings:
    return Settings.read(DEPLOY / "serve.yaml")


def test_the_settings_are_settings_and_one(settings: Settings) -> None:
    assert (KUBERNETES / "serve.yaml").read_bytes() == (DEPLOY / "serve.yaml").read_bytes()
    assert not settings.no_auth
    assert settings.keys == Path("/etc/discreet/keys/keys.json")
    assert settings.queue is not None
    assert settings.queue.url.startswith("postgresql+psycopg://")
    assert ":" not in settings.queue.url.removeprefix("postgresql+psycopg://"), "no password in a file"


def test_the_image_runs_as_a_user_without_rights() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    last = text[text.rindex("\nFROM "):]
    assert re.findall(r"^USER (.*)", last, re.M) == [f"{USER}:{USER}"]
    copied = {name for line in re.findall(r"^COPY (?!--from)(.*)", text, re.M) for name in line.split()[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    kept = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied - {"./src"} <= kept | {"src"}


def test_compose_mounts_what_the_settings_name(settings: Settings) -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    one = services["discreet"]
    assert one["user"] == f"{USER}:{USER}"
    assert one["read_only"]
    assert one["cap_drop"] == ["ALL"]
    assert one["ports"] == [f"127.0.0.1:{settings.port}:{settings.port}"]
    at = {volume.split(":")[1]: volume.split(":")[0] for volume in one["volumes"]}
    assert settings.queue is not None
    assert str(settings.queue.key_folder) in at
    assert at[str(settings.queue.key_folder)] not in str(services["database"]["volumes"])
    assert str(settings.keys.parent if settings.keys else "") in at
    assert settings.queue.url.rpartition("@")[2].split("/")[0] in services
    assert int(one["stop_grace_period"].rstrip("s")) > settings.drain_s


def test_kubernetes_runs_without_rights_and_mounts_what_the_settings_name(settings: Settings) -> None:
    [deployment] = [one for one in objects() if one["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert str(pod["securityContext"]["runAsUser"]) == USER
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                            "capabilities": {"drop": ["ALL"]}}
    assert pod["terminationGracePeriodSeconds"] > settings.drain_s
    mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    assert settings.queue is not None
    assert settings.keys is not None
    assert {str(settings.queue.key_folder), str(settings.keys.parent), container["args"][1], "/tmp"} == set(mounts)
    assert set(mounts.values()) == {one["name"] for one in pod["volumes"]}
    assert {container[kind]["httpGet"]["path"] for kind in ("startupProbe", "readinessProbe", "livenessProbe")} == {
        "/health/ready", "/health/live"}
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    for one in objects():
        selector = one.get("spec", {}).get("selector") or one.get("spec", {}).get("podSelector")
        if selector and one["kind"] != "PersistentVolumeClaim":
            assert selector.get("matchLabels", selector) == labels, one["kind"]


def test_the_unit_has_no_rights_and_its_own_folder(settings: Settings) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "discreet.service")
    service = unit["Service"]
    assert service["DynamicUser"] == "yes"
    assert service["CapabilityBoundingSet"] == ""
    assert int(service["TimeoutStopSec"]) > settings.drain_s
    assert "DISCREET_SERVE_KEYS=%d/keys.json" in service["Environment"]
    assert settings.queue is not None
    assert str(settings.queue.key_folder).startswith(f"/var/lib/{service['StateDirectory']}/")


MONITORING = DEPLOY / "monitoring"
ALERTS = Path(__file__).parent / "alerts_test.yaml"
"""For promtool: where each alert fires, and that all are quiet on a quiet day."""


def test_monitoring_names_metrics_and_labels_that_there_are() -> None:
    alerts = [rule for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"]
              for rule in group["rules"]]
    panels = json.loads((MONITORING / "grafana-dashboard.json").read_text())["panels"]
    asked = [one["expr"] for one in alerts] + [one["expr"] for panel in panels for one in panel["targets"]]
    assert len(asked) > 20
    page = Metrics().page().decode()
    for expression in asked:
        names = re.findall(r"\bdiscreet_\w+", expression)
        assert names, expression
        for name in names:
            family = re.sub(r"_(total|bucket)$", "", name)
            assert f"# TYPE {name} " in page or f"# TYPE {family} histogram" in page, name
        used = {*re.findall(r'(\w+)=~?"', expression),
                *(label for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(", "))}
        assert used <= set().union(*(_labels(name) for name in names)) | {"le"}, expression
    for rule in alerts:
        assert {"summary", "description"} <= set(rule["annotations"])
        shown = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
        assert shown <= set(re.findall(r"by \((\w+)\)", rule["expr"])), rule["alert"]
    tested = ALERTS.read_text()
    assert all(f"alertname: {rule['alert']}," in tested or f'alertname="{rule["alert"]}"' in tested for rule in alerts)
    grid = [panel["gridPos"] for panel in panels]
    places = [(at["x"] + right, at["y"] + down) for at in grid for right in range(at["w"]) for down in range(at["h"])]
    assert len(set(places)) == len(places), "panels lie on each other"
    [scrape] = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())["scrape_configs"]
    assert "credentials_file" in scrape["authorization"]


def _labels(name: str) -> set[str]:
    """The labels of a metric."""
    family = re.sub(r"_(total|bucket)$", "", name)
    [found] = [one for one in vars(Metrics()).values() if getattr(one, "_name", None) == family]
    return set(found._labelnames)


def test_the_model_server_is_the_upstream_and_has_no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    services = yaml.safe_load((DEPLOY / "compose.model.yaml").read_text())["services"]
    for name, value in services["discreet"]["environment"].items():
        monkeypatch.setenv(name, value)
    upstream = Settings.read(DEPLOY / "serve.yaml").upstream
    assert upstream is not None
    assert str(upstream.url.host) in services
    assert str(upstream.url.port) in services["model"]["command"]
    networks = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["networks"]
    assert [networks[one]["internal"] for one in services["model"]["networks"]] == [True]


@pytest.mark.services
@pytest.mark.enable_socket
def test_linters_of_their_makers() -> None:
    python = environment("deploy")
    tools = python.parent
    subprocess.run([tools / "hadolint", DEPLOY / "Dockerfile"], check=True)
    subprocess.run([tools / "check-jsonschema", "--builtin-schema", "vendor.compose-spec",
                    *sorted(DEPLOY.glob("compose*.yaml"))], check=True)
    files = [KUBERNETES / name for name in yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]]
    subprocess.run([tools / "kubernetes-validate", "--strict", *files], check=True)


@pytest.mark.services
@pytest.mark.parametrize(("tool", "command", "file"), [("kubectl", "kustomize", KUBERNETES),
                                                       ("promtool", "test rules", ALERTS)])
def test_programs_of_their_makers(tool: str, command: str, file: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{file.relative_to(ROOT)} was not checked: there is no {tool} on the path")
    subprocess.run([tool, *command.split(), file], check=True)


@pytest.mark.services
@pytest.mark.enable_socket
def test_the_bill_of_materials_lists_what_the_service_runs_with() -> None:
    subprocess.run(["make", "sbom"], cwd=ROOT, check=True)
    listed = {one["name"].lower() for one in json.loads((ROOT / "sbom.json").read_text())["components"]}
    assert {"fastapi", "sqlalchemy", "onnxruntime", "psycopg"} <= listed
    assert not {"pip-audit", "pip_audit", "cyclonedx-bom", "pytest"} & listed
