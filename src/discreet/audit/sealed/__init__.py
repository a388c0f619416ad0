"""Sealed coins: a membership audit that needs no reference model, no retraining and no trust in the auditor's luck.

1. *Seal*, before training: pairs of alike records (or users, or canaries) are made; a fair coin per pair decides which
   of the two is trained on; a hash commits to the coins and is published.
2. *Train* on `train.jsonl`; *score* `probe.jsonl`, which holds both of every pair in an order that says nothing.
3. *Unseal*: coins and scores become a certificate that anybody can check again.

**Why it is valid.** Let H₀ be: the scores of the pair members are independent of the coins given the data (a model that
carries nothing of which of two records it was trained on; a model trained on neither is the extreme case). Let a_i and
b_i be the scores of the two of pair i, and c_i = ±1 its coin, + where the first was trained on. The difference "trained
minus not" is D_i = c_i (a_i − b_i). The coins are independent and fair, and under H₀ still so given all a and b. So
|D_i| = |a_i − b_i| is a function of the scores alone, and the signs of the D_i that are not 0 are, given all scores,
independent fair coins: whatever the model, however scores depend on each other, on labels, on lengths, on users,
however badly pairs are matched. Nothing is assumed of the data. Bets whose stakes depend on |D_1| … |D_i| and on the
signs before i are fair, their wealth is a martingale of mean 1 in the order of pairs that was committed, and
P(wealth ever >= 1/α) <= α (`discreet.stats.evalues`). The same holds by user, with a_i and b_i the mean scores of all
records of a user, for there the coin decides over the whole user.

**One seal, one opening.** All this holds for scores that were fixed before the coins were known, which after the first
opening they no longer can be; and several files of scores are several chances (`read_openings`).

**What breaks it**: a scorer who knows the coins (keep `coins.json` and `train.jsonl` from who scores), coins that
were not fair (a seal from `--seed` says so), a seal chosen after training (publish the commitment before). A model
trained on both of a pair, or on neither, is not wrongly called leaking; it makes the audit blind.
"""

from __future__ import annotations

from discreet.audit.sealed.certificate import Certificate, Signer, make_certificate, read_public_key, unseal
from discreet.audit.sealed.findings import POWER, findings
from discreet.audit.sealed.opening import Opening
from discreet.audit.sealed.scores import Scores, read_scores
from discreet.audit.sealed.sealing import Datum, Sealed, read_data, seal
from discreet.audit.sealed.unsealing import (
    Revealed,
    known_commitment,
    read_coins,
    read_openings,
    record_opening,
    reveal,
    under_seal,
)

__all__ = [
    "POWER", "Certificate", "Datum", "Opening", "Revealed", "Scores", "Sealed", "Signer", "findings",
    "known_commitment", "make_certificate", "read_coins", "read_data", "read_openings", "read_public_key",
    "read_scores", "record_opening", "reveal", "seal", "under_seal", "unseal",
]
