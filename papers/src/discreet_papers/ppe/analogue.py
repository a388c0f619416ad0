"""Whether a run of the study repeats the paper's, or only something like it."""

from __future__ import annotations

from discreet_papers.ppe.corpora import writers
from discreet_papers.ppe.reproduction import PLAN, SETTINGS, Study

__all__ = ["is_analogue"]


def is_analogue(study: Study) -> bool:
    """False where the paper's models wrote in its roles, its encoders read, and no set is smaller than at its scale.

    Names decide: no weights are looked at.
    """
    setting = study.setting
    if study.data is None or setting.scale != "paper" or setting.sizes != SETTINGS["paper"].sizes or (
            setting.encoders.partition("=")[0] != "paper"):
        return True
    papers = {one["model"]: set(one["roles"]) for one in PLAN["campaign"]["generators"]}
    return any(writers(folder) != papers for domain in setting.domains for folder in study.campaigns(domain))
