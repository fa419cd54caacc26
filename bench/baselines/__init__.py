"""The storage formats and query engines that whence is compared with, each written as its authors describe it."""
