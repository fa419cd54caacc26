"""All calls to Spark's JVM. No other module needs to know how they are made."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from whence.errors import BadType, WhenceError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

CATALYST = "org.apache.spark.sql.catalyst"


@dataclass
class _Found:
    """Objects that were looked up in a JVM. Each lookup takes several calls, and the result never changes."""

    objects: dict[str, Any] = field(default_factory=dict)
    classes: dict[str, Any] = field(default_factory=dict)
    dtypes: dict[str, Any] = field(default_factory=dict)
    defaults: dict[tuple[str, int], list[Any]] = field(default_factory=dict)


_found: weakref.WeakKeyDictionary[SparkContext, _Found] = weakref.WeakKeyDictionary()


class Jvm:
    """Access to Catalyst through one session.

    Java objects have the type `Any`, because py4j looks up methods when they are called.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._view: Any = spark._jvm
        found = _found.setdefault(spark.sparkContext, _Found())
        self._objects, self._classes = found.objects, found.classes
        self._dtypes, self._defaults = found.dtypes, found.defaults
        self._id: Any = None

    def singleton(self, name: str) -> Any:
        """A Scala object, given by the name of its class without the final `$`."""
        if name not in self._objects:
            self._objects[name] = self.class_("java.lang.Class").forName(f"{name}$").getField("MODULE$").get(None)
        return self._objects[name]

    def class_(self, name: str) -> Any:
        """A Java class by its full name. It is cached, because py4j asks the JVM about every part of the name."""
        if name not in self._classes:
            target = self._view
            for part in name.split("."):
                target = getattr(target, part)
            self._classes[name] = target
        return self._classes[name]

    def is_instance(self, name: str, value: Any) -> bool:
        """Whether a Java object is an instance of a class or interface, given by its full name."""
        key = f"class {name}"
        if key not in self._objects:
            self._objects[key] = self.class_("java.lang.Class").forName(name)
        return bool(self._objects[key].isInstance(value))

    def new(self, name: str, *args: Any) -> Any:
        """Create a Java object of a class in Catalyst's packages: `new("expressions.EqualTo", a, b)`."""
        return self.class_(f"{CATALYST}.{name}")(*args)

    def made(self, name: str, *args: Any) -> Any:
        """Create an object of a case class, with default values for the remaining arguments of this version of
        Spark.
        """
        key = name, len(args)
        if key not in self._defaults:
            companion = self.singleton(f"{CATALYST}.{name}")
            made = self.class_("java.lang.Class").forName(f"{CATALYST}.{name}").getConstructors()[0]
            places = range(len(args) + 1, made.getParameterCount() + 1)
            self._defaults[key] = [getattr(companion, f"$lessinit$greater$default${place}")() for place in places]
        return self.new(name, *args, *self._defaults[key])

    def seq(self, items: Iterable[Any]) -> Any:
        """Create a Scala Seq."""
        items = list(items)
        if not items:
            return self.singleton("scala.collection.immutable.Nil")
        built = self.class_("java.util.ArrayList")()
        for item in items:
            built.append(item)
        return self.class_("org.apache.spark.api.python.PythonUtils").toSeq(built)

    def some(self, item: Any) -> Any:
        return self.class_("scala.Some")(item)

    @property
    def none(self) -> Any:
        return self.singleton("scala.None")

    def expr_id(self, number: int) -> Any:
        """The ExprId with this number."""
        if self._id is None:
            self._id = self.class_(f"{CATALYST}.expressions.NamedExpression").newExprId().jvmId()
        return self.new("expressions.ExprId", number, self._id)

    def dtype(self, text: str) -> Any:
        """The DataType for the dtype of an attribute."""
        if text not in self._dtypes:
            quoted = text if text.startswith(("{", '"')) else f'"{text}"'
            self._dtypes[text] = self.class_("org.apache.spark.sql.types.DataType").fromJson(quoted)
        return self._dtypes[text]

    @property
    def no_metadata(self) -> Any:
        if "no metadata" not in self._objects:
            self._objects["no metadata"] = self.class_("org.apache.spark.sql.types.Metadata").empty()
        return self._objects["no metadata"]

    def literal(self, value: object, local: bool = False) -> Any:
        """Catalyst's literal of a Python value. With `local`, a time without a zone has none in Spark, too."""
        from pyspark.sql.functions import lit

        if isinstance(value, date):  # java.sql's classes would use the Julian calendar before 1582
            return self.singleton(f"{CATALYST}.expressions.Literal").apply(self._time(value, local))
        return self.spark._jsparkSession.expression(lit(value)._jc)

    def literal_of(self, value: Any, dtype: Any) -> Any:
        """Catalyst's literal of a value in Catalyst's own form, with its type."""
        return self.singleton(f"{CATALYST}.expressions.Literal").create(value, dtype)

    def _time(self, value: date, local: bool) -> Any:
        if not isinstance(value, datetime):
            return self.class_("java.time.LocalDate").of(value.year, value.month, value.day)
        if local and value.tzinfo is None:
            parts = (value.year, value.month, value.day, value.hour, value.minute, value.second)
            return self.class_("java.time.LocalDateTime").of(*parts, value.microsecond * 1000)
        try:
            since = value.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)  # naive times are local
        except OverflowError as error:
            raise BadType(f"{value} is outside the range of timestamps in UTC: use another time") from error
        seconds = since.days * 86_400 + since.seconds
        return self.class_("java.time.Instant").ofEpochSecond(seconds, since.microseconds * 1000)

    def same_object(self, one: Any, other: Any) -> bool:
        """Whether two references are the same object of the JVM."""
        number = self.class_("java.lang.System").identityHashCode
        return bool(number(one) == number(other))

    def parse(self, text: str) -> Any:
        """Parse an SQL expression. The result is unresolved."""
        return self.spark._jsparkSession.sessionState().sqlParser().parseExpression(text)

    def rebuild(self, template: Any, **fields: Any) -> Any:
        """Copy a node with some constructor arguments replaced. The others may differ between versions of Spark."""
        arity = template.productArity()
        # The gateway is never None while the session runs.
        args = self.spark.sparkContext._gateway.new_array(self._view.java.lang.Object, arity)  # type: ignore[union-attr]
        left = dict(fields)
        for index in range(arity):
            name = template.productElementName(index)
            args[index] = left.pop(name) if name in left else template.productElement(index)
        if left:
            raise WhenceError(f"this Spark's {template.nodeName()} has no {', '.join(left)}")
        return template.makeCopy(args)

    def frame(self, plan: Any) -> DataFrame:
        """The DataFrame of a logical plan."""
        from pyspark.sql.classic.dataframe import DataFrame

        dataset = self.class_("org.apache.spark.sql.classic.Dataset").ofRows(self.spark._jsparkSession, plan)
        return DataFrame(dataset, self.spark)


def items(seq: Any) -> list[Any]:
    """Convert a Scala Seq to a list."""
    return [seq.apply(index) for index in range(seq.size())]


class Origin:
    """A reference to a Catalyst expression: the root that it was read from, and the path from there.

    Each step of the path is a call to the JVM. So steps are taken only when the expression is needed, and from the
    nearest ancestor that is known.
    """

    __slots__ = ("_field", "_found", "_index", "_parent", "_root")

    def __init__(self, root: Any, parent: Origin | None = None, index: int = 0, field: str = "") -> None:
        self._root, self._parent, self._index, self._field = root, parent, index, field
        self._found: Any = None

    def child(self, index: int, field: str = "") -> Origin:
        """A child, by its index. If a field holds it, one call fetches it instead of two."""
        return Origin(None, self, index, field)

    @property
    def java(self) -> Any:
        below: list[Origin] = []
        at: Origin = self
        while at._found is None and at._parent is not None:
            below.append(at)
            at = at._parent
        if at._found is None:
            at._found = at._root() if callable(at._root) and not is_java(at._root) else at._root
        for each in reversed(below):
            above = at._found
            each._found = getattr(above, each._field)() if each._field else above.children().apply(each._index)
            at = each
        return self._found


def is_java(value: object) -> bool:
    """Whether a value is a JVM object, and not one that py4j converted to Python."""
    return hasattr(value, "_target_id")
