"""Answers as people read them: the story of some cells, and the report of what one row reached."""

from whence.story._story import Story, story_of
from whence.story.erasure import Erasure, erasure

__all__ = ["Erasure", "Story", "erasure", "story_of"]
