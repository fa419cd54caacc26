"""whence: where did this value come from, and where did it go?"""
