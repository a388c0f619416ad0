"""Membership attacks: an idea a file, pure functions of a `View`; `Attack` says what one has to be."""

from __future__ import annotations

from discreet.audit.membership.attacks.label_only import LabelOnly
from discreet.audit.membership.attacks.lira import Lira, LiraFixed, LiraOffline
from discreet.audit.membership.attacks.outputs import Confidence, Entropy, Loss, TrueClassConfidence
from discreet.audit.membership.attacks.probe import Probe
from discreet.audit.membership.attacks.quantile import Quantile
from discreet.audit.membership.attacks.reference import Reference
from discreet.audit.membership.attacks.rmia import Rmia, RmiaOffline
from discreet.audit.membership.attacks.trajectory import Trajectory

__all__ = ["Confidence", "Entropy", "LabelOnly", "Lira", "LiraFixed", "LiraOffline", "Loss", "Probe", "Quantile",
           "Reference", "Rmia", "RmiaOffline", "Trajectory", "TrueClassConfidence"]
