"""What plain code did between tracked calls: which known array an array shows, copies, or once was."""
