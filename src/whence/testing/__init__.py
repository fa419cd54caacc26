"""What tests, benchmarks and users' own checks share: brute-force oracles, generators and strategies.

- `oracle`: relations as plain sets of tuples, the answer that every other representation must give.
- `operations`: the raw lineage tuples of many NumPy operations, at any size.
- `table_cells`: plans run in Python on annotated cells, which say what cell questions about tables must answer.
- `strategies`: Hypothesis strategies for shapes, relations, selections and chains (needs `hypothesis`).
- `conformance`: a suite of properties that any kind of relation can subclass (needs `hypothesis`).

Nothing here imports the engine that it judges, nor anything but NumPy unless `strategies` is asked for.
"""
