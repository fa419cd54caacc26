"""Questions about rows as predicates."""
