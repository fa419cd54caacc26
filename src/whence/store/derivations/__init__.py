"""The graph of derivations in memory, and walks over it."""
