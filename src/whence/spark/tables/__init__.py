"""The sources and outputs of pipelines as datasets of the log: numbered rows, named columns, and hand-overs."""
