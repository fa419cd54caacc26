"""Functions as people write them for pipelines, to test which of them whence translates, and that it does so
correctly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

REGIONS = {"CA": "West", "WA": "West", "OR": "West", "NY": "East", "MA": "East", "TX": "South", "FL": "South"}
COMPLAINTS = ("refund", "broken", "late", "angry")
TAX = 1.19


def age_band(age: Any) -> Any:
    if age is None:
        return None
    if age < 0:
        return "unknown"
    if age < 18:
        return "minor"
    elif age < 65:
        return "adult"
    return "senior"


def clean_name(name: Any) -> Any:
    if not name:
        return "n/a"
    name = name.strip().lower()
    return name.replace("-", " ").replace(".", "")


def full_name(first: Any, last: Any) -> Any:
    if first is None or last is None:
        return first or last
    return f"{last.strip()}, {first.strip()}"


def bmi(weight: Any, height: Any) -> Any:
    if weight is None or height is None or height <= 0:
        return None
    return weight / (height * height)


def to_number(text: Any) -> Any:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def email_domain(email: Any) -> Any:
    if email is None or "@" not in email:
        return None
    return email.split("@")[1].lower()


def region(state: Any) -> Any:
    return REGIONS.get(state, "Other")


def is_weekend(day: Any) -> Any:
    return day is not None and day.weekday() >= 5


def discounted(price: Any, quantity: Any, member: Any) -> Any:
    if price is None or quantity is None:
        return 0.0
    rate = 0.0
    if quantity >= 100:
        rate = 0.2
    elif quantity >= 10:
        rate = 0.1
    if member:
        rate += 0.05
    return price * quantity * (1 - rate)


def initials(first: Any, last: Any) -> Any:
    return "".join([first[:1].upper(), last[:1].upper()]) if first and last else "?"


def valid_zip(code: Any) -> Any:
    return code is not None and re.match(r"^\d{5}(-\d{4})?$", code) is not None


def grade(score: Any) -> Any:
    if score is None or math.isnan(score):
        return "absent"
    for limit, letter in ((90, "A"), (80, "B"), (70, "C"), (60, "D")):
        if score >= limit:
            return letter
    return "F"


def season(day: Any) -> Any:
    if day is None:
        return None
    month = day.month
    if month in (12, 1, 2):
        return "winter"
    if month in (3, 4, 5):
        return "spring"
    return "summer" if month in (6, 7, 8) else "autumn"


def complains(text: Any) -> Any:
    return text is not None and any(word in text.lower() for word in COMPLAINTS)


def clamped(value: Any) -> Any:
    return max(0, min(100, value)) if value is not None else 0


def with_tax(price: Any) -> Any:
    return None if price is None else round(price * TAX, 2)


def distance(lat: Any, lon: Any) -> Any:
    a = math.sin(math.radians(lat) / 2) ** 2 + math.cos(math.radians(lat)) * math.sin(math.radians(lon) / 2) ** 2
    return 6371.0 * 2 * math.asin(math.sqrt(a))


def tier(points: Any) -> Any:
    match points:
        case None | 0:
            return "none"
        case 1 | 2 | 3:
            return "low"
        case many if many > 1000:
            return f"top {many}"
        case _:
            word = "some"
    return word


@dataclass(frozen=True, slots=True)
class Everyday:
    """A function, the types of its arguments, and its declared return type."""

    function: Callable[..., Any]
    arguments: tuple[str, ...]
    returns: str

    @property
    def name(self) -> str:
        return self.function.__name__


EVERYDAY = (
    Everyday(age_band, ("integer",), "string"),
    Everyday(clean_name, ("string",), "string"),
    Everyday(full_name, ("string", "string"), "string"),
    Everyday(bmi, ("double", "double"), "double"),
    Everyday(to_number, ("string",), "double"),
    Everyday(email_domain, ("string",), "string"),
    Everyday(region, ("string",), "string"),
    Everyday(is_weekend, ("date",), "boolean"),
    Everyday(discounted, ("double", "long", "boolean"), "double"),
    Everyday(initials, ("string", "string"), "string"),
    Everyday(valid_zip, ("string",), "boolean"),
    Everyday(grade, ("double",), "string"),
    Everyday(season, ("date",), "string"),
    Everyday(complains, ("string",), "boolean"),
    Everyday(clamped, ("long",), "long"),
    Everyday(with_tax, ("double",), "double"),
    Everyday(distance, ("double", "double"), "double"),
)
FURTHER = (Everyday(tier, ("integer",), "string"),)  # not in the published list
for _each in (
    *EVERYDAY,
    *FURTHER,
):  # remove type hints, because PySpark reads them and warns about unknown ones
    _each.function.__annotations__.clear()
