"""Derivations in memory: the walk over them, and the relations they lead to."""
