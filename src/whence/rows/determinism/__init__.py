"""Whether a pipeline gives the same rows when it runs again."""
