"""Translate Python functions into expressions, if possible."""

from whence.rows.functions.batches import translate_columns
from whence.rows.functions.fingerprint import code_of
from whence.rows.functions.holding import held_by
from whence.rows.functions.translating import Untranslated, translate

__all__ = ["Untranslated", "code_of", "held_by", "translate", "translate_columns"]
