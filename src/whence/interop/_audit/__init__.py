"""The directory that `whence run` adds to the import path of Python programs."""
