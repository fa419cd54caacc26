"""What `whence run` puts on the path of Python programs."""
