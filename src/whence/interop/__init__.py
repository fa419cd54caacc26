"""What comes from elsewhere and what goes there: command runs, git, notebooks, PROV documents, OpenLineage events."""
