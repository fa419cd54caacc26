"""Options of Spark's readers that a log may store: those that describe the content of files. Others may name keys or
classes.
"""

GIVEN_APART = frozenset({"path", "paths"})

# fmt: off
OPTIONS = frozenset({
    "allowbackslashescapinganycharacter", "allowcomments", "allownonnumericnumbers", "allownumericleadingzeros",
    "allowsinglequotes", "allowunquotedcontrolchars", "allowunquotedfieldnames", "basepath",
    "chartoescapequoteescaping", "columnnameofcorruptrecord", "comment", "dateformat", "datetimerebasemode",
    "delimiter", "dropfieldifallnull", "emptyvalue", "enabledatetimeparsingfallback", "encoding", "enforceschema",
    "escape", "header", "ignoreleadingwhitespace", "ignoretrailingwhitespace", "inferschema", "int96rebasemode",
    "linesep", "locale", "maxcharspercolumn", "maxcolumns", "mergeschema", "mode", "multiline", "nanvalue",
    "negativeinf", "nullvalue", "pathglobfilter", "positiveinf", "preferdate", "prefersdecimal",
    "primitivesasstring", "quote", "recursivefilelookup", "samplingratio", "sep", "singlevariantcolumn",
    "timestampformat", "timestampntzformat", "timezone", "unescapedquotehandling", "wholetext",
})
# fmt: on
