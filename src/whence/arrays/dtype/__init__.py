"""The tracked dtype: float64 arrays whose cells hold their own lineage."""
