"""Large relations on Spark: compressed, asked and composed where the data is."""

from whence.spark.scale.compressing import compress_frame

__all__ = ["compress_frame"]
