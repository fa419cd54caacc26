"""The tracked dtype: float64 arrays whose cells contain their own lineage."""
