"""Content-addressed files: on this machine, or on any file system that fsspec supports."""
