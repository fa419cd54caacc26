"""Content-addressed files: on this machine, or wherever fsspec reaches."""
