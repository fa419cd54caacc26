"""Spark: plans read into operators, operators run. The only package that imports pyspark."""
