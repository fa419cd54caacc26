"""The tracked dtype: float64 arrays whose cells know where they came from."""
