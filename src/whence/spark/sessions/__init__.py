"""Sessions: Java, a local session, and pipelines that are given as files."""
