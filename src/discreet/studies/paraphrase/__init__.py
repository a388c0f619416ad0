"""Paraphrases of training texts, for the copies of the membership paper's §8.2."""

from discreet.studies.paraphrase.base import Paraphraser
from discreet.studies.paraphrase.spec import paraphraser_of
from discreet.studies.paraphrase.write import write_paraphrases

__all__ = ["Paraphraser", "paraphraser_of", "write_paraphrases"]
