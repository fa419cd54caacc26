"""Whether a pipeline returns the same rows when it runs again."""
