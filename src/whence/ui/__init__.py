"""The explorer: a page about a log, served on this machine only, and the same views as a widget in notebooks."""
