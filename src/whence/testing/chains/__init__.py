"""Chains of Spark pipelines and array functions, recorded in a log, and what each of their answers has to be.

`Chain` describes one; `Recorded` runs it and knows the lineage of every step by brute force; `Jury` compares answers.
"""

from whence.testing.chains.chain import Chain, Part, Recorded
from whence.testing.chains.jury import Jury, asked_at_random

__all__ = ["Chain", "Jury", "Part", "Recorded", "asked_at_random"]
