"""Python functions as expressions, where that is what they are."""

from whence.rows.functions.fingerprint import code_of
from whence.rows.functions.translating import Untranslated, translate

__all__ = ["Untranslated", "code_of", "translate"]
