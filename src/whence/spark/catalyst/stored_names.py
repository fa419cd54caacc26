"""The functions of Spark that a stored plan may call: Catalyst's name, the SQL name, and the details that are allowed.

Each reads only its arguments and the settings of the run. Functions that call a method by its name (`reflect`), read a
file or run code are not listed, and a function that is not listed is never looked up.
"""

from __future__ import annotations

import re
from typing import TypeAlias

Names: TypeAlias = dict[str, tuple[str, re.Pattern[str]]]

PLAIN = re.compile("")
MODE = re.compile(
    r"evalContext=NumericEvalContext\((ANSI|LEGACY),true\)|evalMode=(ANSI|LEGACY)|failOnError=(true|false)"
    r"|ansiEnabled=(true|false)|legacySizeOfNull=(true|false)"
)
_ZONE = r'timeZoneId="([A-Za-z0-9/_+:-]{1,60})"'
CAST = re.compile(rf"evalMode=(ANSI|LEGACY|TRY) {_ZONE}")
IN_ZONE = re.compile(_ZONE)
IGNORING = re.compile("ignoreNulls=(true|false)")
DROPPING = re.compile("ignoreNulls=true")
LIKE = re.compile(r"escapeChar=\\")
DIVIDING = re.compile("nullOnDivideByZero=true")
MADE = re.compile("useStringTypeWhenEmpty=false")
FIELD = re.compile(r'name="([^"\\]{1,200})"')
COMPLETE = re.compile(
    r'isDistinct=false mode=\{"object": "org\.apache\.spark\.sql\.catalyst\.expressions\.aggregate\.Complete\$"\} (.*)'
)
"""The details of an aggregate over a window. They end with the aggregate's own details."""


def _plainly(pairs: str) -> Names:
    """Parse pairs `Catalyst=sql` from a string."""
    return {name: (sql, PLAIN) for name, _, sql in (each.partition("=") for each in pairs.split())}


FUNCTIONS: Names = {
    **_plainly(
        "Coalesce=coalesce Concat=concat ConcatWs=concat_ws Contains=contains EndsWith=endswith If=if InitCap=initcap "
        "IsNaN=isnan Left=left Length=length Lower=lower OctetLength=octet_length Overlay=overlay RLike=rlike "
        "RegExpExtract=regexp_extract RegExpReplace=regexp_replace Reverse=reverse Right=right SplitPart=split_part "
        "StartsWith=startswith StringInstr=instr StringLPad=lpad StringLocate=locate StringRPad=rpad "
        "StringRepeat=repeat StringReplace=replace StringSplit=split StringTranslate=translate StringTrim=trim "
        "StringTrimLeft=ltrim StringTrimRight=rtrim Substring=substring Upper=upper"
    ),
    **_plainly(
        "Cos=cos Exp=exp Greatest=greatest Least=least Log=ln Log10=log10 Logarithm=log NaNvl=nanvl Pow=pow Rint=rint "
        "Signum=signum Sin=sin Sqrt=sqrt Tan=tan UnaryPositive=positive WidthBucket=width_bucket BitwiseAnd=& "
        "BitwiseOr=| BitwiseXor=^"
    ),
    **_plainly(
        "AddMonths=add_months DateAdd=date_add DateDiff=datediff DateSub=date_sub DayOfMonth=day DayOfWeek=dayofweek "
        "DayOfYear=dayofyear LastDay=last_day Month=month Quarter=quarter TruncDate=trunc WeekDay=weekday "
        "WeekOfYear=weekofyear Year=year"
    ),
    **_plainly(
        "ArrayContains=array_contains ArrayDistinct=array_distinct ArrayExcept=array_except "
        "ArrayIntersect=array_intersect ArrayJoin=array_join ArrayMax=array_max ArrayMin=array_min "
        "ArrayPosition=array_position ArrayUnion=array_union ArraysZip=arrays_zip CreateNamedStruct=named_struct "
        "Flatten=flatten GetMapValue=element_at MapKeys=map_keys MapValues=map_values Slice=slice "
        "SortArray=sort_array"
    ),
    **_plainly("Explode=explode Inline=inline PosExplode=posexplode"),
    **{
        name: (sql, MODE)
        for name, sql in (
            ("Abs", "abs"), ("Add", "+"), ("BRound", "bround"), ("Ceil", "ceil"), ("Divide", "/"),
            ("ElementAt", "element_at"), ("Floor", "floor"), ("GetArrayItem", "element_at"),
            ("IntegralDivide", "div"), ("MakeDate", "make_date"), ("Multiply", "*"), ("Pmod", "pmod"),
            ("Remainder", "%"), ("Round", "round"), ("Size", "size"), ("Subtract", "-"), ("UnaryMinus", "negative"),
        )
    },
    **{
        name: (sql, IN_ZONE)
        for name, sql in (
            ("DateFormatClass", "date_format"), ("FromUnixTime", "from_unixtime"), ("Hour", "hour"),
            ("Minute", "minute"), ("MonthsBetween", "months_between"), ("Second", "second"),
            ("TruncTimestamp", "date_trunc"),
        )
    },
    "CreateArray": ("array", MADE),
    "CreateMap": ("map", MADE),
    "ILike": ("ilike", LIKE),
    "Like": ("like", LIKE),
}  # fmt: skip
OF_ONE = frozenset({"StringTrim", "StringTrimLeft", "StringTrimRight"})  # SQL has the trimmed characters first
GENERATORS = frozenset({"Explode", "Inline", "PosExplode"})  # created directly, not through an unresolved function
EXTRACTING = frozenset({"GetArrayItem", "GetMapValue"})  # created as `array[0]` and `map['key']`, not as function calls
REPLACED = frozenset(
    {"Between", "EqualNull", "Extract", "IfNull", "NullIf", "NullIfResult", "Nvl", "Nvl2", "TryDivide"}
)
"""Functions that Catalyst replaces with another expression, which is the argument. `NullIfResult` also has a
condition.
"""

PART_NAMES = {
    "With": PLAIN,
    "CommonExpressionDef": re.compile(r"id=CommonExpressionId\((\d{1,9}),false\)"),
    "CommonExpressionRef": re.compile(r"id=CommonExpressionId\((\d{1,9}),false\) nullable=(true|false)"),
}
"""Expressions that name parts of themselves."""

AGGREGATES: Names = {
    **_plainly(
        "ApproximatePercentile=percentile_approx BitAndAgg=bit_and BitOrAgg=bit_or BoolAnd=bool_and BoolOr=bool_or "
        "Count=count CountIf=count_if Max=max MaxBy=max_by Median=median Min=min MinBy=min_by"
    ),
    **{name: (sql, MODE) for name, sql in (("Average", "avg"), ("Sum", "sum"))},
    **{
        name: (sql, DIVIDING)
        for name, sql in (
            ("Corr", "corr"), ("CovPopulation", "covar_pop"), ("CovSample", "covar_samp"), ("Kurtosis", "kurtosis"),
            ("Skewness", "skewness"), ("StddevPop", "stddev_pop"), ("StddevSamp", "stddev_samp"),
            ("VariancePop", "var_pop"), ("VarianceSamp", "var_samp"),
        )
    },
    "AnyValue": ("any_value", IGNORING),
    "CollectList": ("collect_list", DROPPING),
    "CollectSet": ("collect_set", DROPPING),
    "First": ("first", IGNORING),
    "Last": ("last", IGNORING),
    "Percentile": ("percentile", re.compile("reverse=false")),
}  # fmt: skip
WINDOW_FUNCTIONS: Names = {
    **_plainly(
        "CumeDist=cume_dist DenseRank=dense_rank NTile=ntile PercentRank=percent_rank Rank=rank RowNumber=row_number"
    ),
    "Lag": ("lag", IGNORING),
    "Lead": ("lead", IGNORING),
    "NthValue": ("nth_value", IGNORING),
}
NO_ARGUMENTS = frozenset({"DenseRank", "PercentRank", "Rank"})  # Spark adds the order of their window as arguments
