"""The sources of a plan: what each is called, which rows and which version it has."""
