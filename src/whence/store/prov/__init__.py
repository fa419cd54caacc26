"""The log as a W3C PROV graph, and taking in graphs of others."""
