"""The log as a W3C PROV graph, and importing graphs."""
