"""Chains of Spark pipelines and array functions, recorded in a log, with the expected answers.

`Chain` describes one; `Recorded` runs it and finds the lineage of every step by brute force; `Jury` compares answers.
"""

from whence.testing.chains.chain import Chain, Part, Recorded
from whence.testing.chains.jury import Jury, asked_at_random

__all__ = ["Chain", "Jury", "Part", "Recorded", "asked_at_random"]
