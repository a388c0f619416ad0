"""Paraphrases of training texts, for the copies of the membership paper's §8.2."""

from discreet_papers.paraphrase.rewording import Paraphraser
from discreet_papers.paraphrase.writing import paraphraser_of, write_paraphrases

__all__ = ["Paraphraser", "paraphraser_of", "write_paraphrases"]
