"""The sources of a plan: their names, row ids and versions."""
