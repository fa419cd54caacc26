"""Stories of cells and erasure reports: answers in sentences and pictures."""

from whence.story._story import Story, story_of
from whence.story.erasure import Erasure, erasure

__all__ = ["Erasure", "Story", "erasure", "story_of"]
