"""Link arrays between tracked calls: find the known array that an array is a view, a copy or a changed version of."""
