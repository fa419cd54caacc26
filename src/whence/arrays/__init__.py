"""Relations from NumPy: known operations, annotated runs, and what was learned from earlier ones."""
