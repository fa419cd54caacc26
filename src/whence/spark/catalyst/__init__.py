"""Read Catalyst's plans into whence's operators, rewrite them, and write them back."""
