"""Recording: captures, tracked calls, activities and artifacts."""
