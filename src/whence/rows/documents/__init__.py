"""Plans as JSON: versioned, made of whence's own operators, and read without running anything in them."""

from whence.rows.documents.origins import NotHeld
from whence.rows.documents.reading import StoredPlan, read_plan
from whence.rows.documents.writing import VERSION, plan_document

__all__ = ["VERSION", "NotHeld", "StoredPlan", "plan_document", "read_plan"]
