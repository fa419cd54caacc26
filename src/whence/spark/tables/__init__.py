"""Tables that pipelines read and make, as datasets of the log: numbered rows, named columns, and hand-overs."""
