"""Answering questions about rows: from saved results, from annotated outputs, by running the plan again."""
