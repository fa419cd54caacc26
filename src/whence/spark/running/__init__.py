"""Running a pipeline: what is saved on the way, and how the log records it."""
