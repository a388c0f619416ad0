"""Sealed coins: a membership audit that needs no reference model, no retraining and no trust in the auditor's luck.

1. *Seal*, before training: pairs of alike records (or users, or canaries) are made; a fair coin per pair decides which
   of the two is trained on; a hash commits to the coins and is published.
2. *Train* on `train.jsonl`; *score* `probe.jsonl`, which holds both of every pair in an order that says nothing.
3. *Unseal*: coins and scores become a certificate that anybody can check again.

**Why it is valid.** H₀: the scores a_i, b_i of the two of pair i are independent of the coin c_i = ±1 given the data (a
model that carries nothing of which of two records it was trained on). "Trained minus not" is D_i = c_i (a_i − b_i):
|D_i| is a function of the scores alone, and the signs of those that are not 0 are, given all scores, independent fair
coins, however scores depend on each other, on labels, lengths or users, however badly pairs are matched. Bets whose
stakes depend on |D_1| … |D_i| and the signs before i are fair, their wealth is a martingale of mean 1 in the committed
order, and P(wealth ever >= 1/α) <= α (`discreet.stats.evalues`). The same holds by user, with the mean scores.

All this holds for scores that were fixed before the coins were known, which after the first opening they no longer can
be (`read_openings`). **What breaks it**: a scorer who knows the coins, coins that were not fair (a seal from `--seed`
says so), a seal chosen after training. A model trained on both of a pair, or on neither, makes the audit blind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.audit.sealed.certificate import Certificate, Signer, make_certificate, read_public_key, unseal
    from discreet.audit.sealed.opening import Opening, known_commitment, read_coins, read_openings, record_opening
    from discreet.audit.sealed.scores import POWER, Revealed, Scores, findings, read_scores, reveal, under_seal
    from discreet.audit.sealed.sealing import Datum, Sealed, read_data, seal

__all__ = ["POWER", "Certificate", "Datum", "Opening", "Revealed", "Scores", "Sealed", "Signer", "findings",
           "known_commitment", "make_certificate", "read_coins", "read_data", "read_openings", "read_public_key",
           "read_scores", "record_opening", "reveal", "seal", "under_seal", "unseal"]
HOMES = {
    "Certificate": "discreet.audit.sealed.certificate", "Datum": "discreet.audit.sealed.sealing",
    "Opening": "discreet.audit.sealed.opening", "POWER": "discreet.audit.sealed.scores",
    "Revealed": "discreet.audit.sealed.scores", "Scores": "discreet.audit.sealed.scores",
    "Sealed": "discreet.audit.sealed.sealing", "Signer": "discreet.audit.sealed.certificate",
    "findings": "discreet.audit.sealed.scores", "known_commitment": "discreet.audit.sealed.opening",
    "make_certificate": "discreet.audit.sealed.certificate", "read_coins": "discreet.audit.sealed.opening",
    "read_data": "discreet.audit.sealed.sealing", "read_openings": "discreet.audit.sealed.opening",
    "read_public_key": "discreet.audit.sealed.certificate", "read_scores": "discreet.audit.sealed.scores",
    "record_opening": "discreet.audit.sealed.opening", "reveal": "discreet.audit.sealed.scores",
    "seal": "discreet.audit.sealed.sealing", "under_seal": "discreet.audit.sealed.scores",
    "unseal": "discreet.audit.sealed.certificate",
}
__getattr__ = lazily(__name__, HOMES)
