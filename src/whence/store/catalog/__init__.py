"""The catalog: tables in SQLite or PostgreSQL, and the statements over them."""
