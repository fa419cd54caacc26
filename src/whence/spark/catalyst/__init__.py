"""Catalyst's plans: read into whence's operators, rewritten, and written back."""
