"""The explorer: a page on a log, served on this machine only, and the same answers for a widget in notebooks."""
