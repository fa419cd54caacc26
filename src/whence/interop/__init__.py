"""Exchange with other systems: command runs, git, notebooks, PROV documents, OpenLineage events."""
