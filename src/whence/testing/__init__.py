"""Oracles, generators and strategies for tests, benchmarks and users' own checks.

- `oracle`: relations as plain sets of tuples; every other representation must give the same answers.
- `operations`: the raw lineage tuples of many NumPy operations, at any size.
- `table_cells`: plans run in Python on annotated cells, the expected answers of cell questions about tables.
- `strategies`: Hypothesis strategies for shapes, relations, selections and chains (needs `hypothesis`).
- `conformance`: a test suite for relations; subclass it for any type of relation (needs `hypothesis`).

Nothing here imports the engine that it tests. Only NumPy is imported, unless `strategies` is used.
"""
