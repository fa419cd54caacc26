"""What plain code did between tracked calls: which known array an array is a view, a copy or a changed version of."""
