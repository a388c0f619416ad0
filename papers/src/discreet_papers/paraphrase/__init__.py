"""Paraphrases of training texts, for the copies of the membership paper's §8.2."""

from discreet_papers.paraphrase.base import Paraphraser, paraphraser_of, paraphrasers, write_paraphrases

__all__ = ["Paraphraser", "paraphraser_of", "paraphrasers", "write_paraphrases"]
