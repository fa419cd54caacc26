"""Spark sessions: finding Java, local sessions, and pipelines given as files."""
