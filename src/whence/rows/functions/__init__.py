"""Python functions translated into expressions, where that is possible."""

from whence.rows.functions.fingerprint import code_of
from whence.rows.functions.translating import Untranslated, translate

__all__ = ["Untranslated", "code_of", "translate"]
