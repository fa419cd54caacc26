"""Run a pipeline, save what is needed to trace its rows, and record the run in the log."""
