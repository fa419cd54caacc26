"""Questions about rows: what users ask with, as predicates."""
