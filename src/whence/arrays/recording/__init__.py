"""Recording calls: `log.track` and `log.capture`."""
