"""Large relations on Spark: compress, query and compose them where the data is."""

from whence.spark.scale.asking import ask_frame, ask_selection, frame_of, selected_of
from whence.spark.scale.composing import compose_parts
from whence.spark.scale.compressing import compress_frame
from whence.spark.scale.running import running

__all__ = ["ask_frame", "ask_selection", "compose_parts", "compress_frame", "frame_of", "running", "selected_of"]
