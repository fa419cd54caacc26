"""Tracers, which answer questions about rows from saved results, from annotated outputs, or by running the plan
again.
"""
