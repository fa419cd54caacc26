"""Names of modules, functions and methods that are known to be deterministic or not."""

from __future__ import annotations

from collections import deque

# Modules whose functions are not deterministic, with the names in them that are exceptions.
CHANGING: dict[str, frozenset[str]] = {
    "random": frozenset(),
    "secrets": frozenset({"compare_digest"}),
    "numpy.random": frozenset(),
    "time": frozenset({"sleep", "strptime", "mktime", "struct_time", "timezone", "altzone", "tzname", "daylight"}),
    "os": frozenset({"path", "sep", "linesep", "fspath", "PathLike", "name", "extsep", "pathsep", "fsencode"}),
    "posixpath": frozenset(
        {"join", "basename", "dirname", "split", "splitext", "normpath", "sep", "commonpath", "commonprefix", "isabs"}
    ),
    **dict.fromkeys(
        (
            "tempfile", "socket", "subprocess", "shutil", "glob", "sqlite3", "urllib.request", "http.client", "ftplib",
            "smtplib", "threading", "multiprocessing", "getpass", "psutil", "requests", "httpx", "urllib3", "aiohttp",
            "boto3", "faker", "fsspec", "fileinput", "linecache", "signal", "resource", "gc", "platform",
            "shelve", "dbm",
        ),
        frozenset[str](),
    ),
}  # fmt: skip
CHANGING["ntpath"] = CHANGING["posixpath"]
# Nondeterministic names in other modules.
NAMED = frozenset(
    {
        "uuid.uuid1", "uuid.uuid4", "uuid.uuid6", "uuid.uuid7", "uuid.uuid8", "uuid.getnode",
        "builtins.open", "io.open", "_io.open", "builtins.input", "builtins.id", "builtins.eval", "builtins.exec",
        "builtins.__import__", "importlib.import_module", "numpy.load", "numpy.loadtxt", "numpy.fromfile",
        "numpy.genfromtxt", "numpy.memmap", "torch.rand", "torch.randn", "torch.randint", "torch.randperm",
        "builtins.globals", "gzip.open", "gzip.GzipFile", "bz2.open", "bz2.BZ2File", "lzma.open", "lzma.LZMAFile",
        "codecs.open", "tarfile.open", "zipfile.ZipFile", "email.utils.make_msgid", "email.utils.formatdate",
        "email.utils.localtime", "inspect.stack", "inspect.currentframe", "sys.argv", "sys.stdin", "sys._getframe",
        "sys.getrefcount", "sys.modules",
    }
)  # fmt: skip
READERS = frozenset({"pandas", "pyarrow", "polars"})  # their functions named read_... read files
TASKS = ("pyspark.taskcontext.", "pyspark.core.files.", "pyspark.files.")  # values of one task or one worker
# Methods that are nondeterministic by their name, whatever the object is.
METHODS = frozenset(
    {
        "now", "utcnow", "today", "uuid1", "uuid4", "urandom", "getrandbits", "randint", "randrange", "shuffle",
        "sample", "read_text", "read_bytes", "open", "exists", "is_file", "is_dir", "stat", "iterdir", "rglob",
        "perf_counter",
        "monotonic", "time_ns", "token_hex", "partitionId", "random", "uniform", "normal", "standard_normal",
        "integers", "choice", "permutation", "rand", "randn", "rvs", "taskAttemptId",
    }
)  # fmt: skip
CLOCKS = frozenset({"Timestamp", "to_datetime", "datetime64"})  # they accept "now" as an argument
SEEDS = frozenset({"random_state", "seed", "rng"})  # arguments that make random numbers repeatable
MUTATING = frozenset(
    {
        "append", "appendleft", "extend", "extendleft", "insert", "pop", "popitem", "popleft", "remove", "clear",
        "sort", "reverse", "rotate", "add", "discard", "update", "setdefault", "subtract", "move_to_end", "fill",
        "write", "writelines", "send", "put", "put_nowait", "get_nowait", "resize", "difference_update",
        "intersection_update", "symmetric_difference_update", "__setitem__", "__delitem__", "__iadd__",
    }
)  # fmt: skip
SHARED = (list, dict, set, bytearray, deque)
# Functions that change an argument, in addition to the methods above when called on the class.
CHANGES_ARGUMENT = frozenset(
    {
        *(f"_heapq.{name}" for name in ("heappush", "heappop", "heapify", "heapreplace", "heappushpop")),
        *(f"_bisect.{name}" for name in ("insort_left", "insort_right")),
        *(f"_operator.{name}" for name in ("setitem", "delitem", "iadd", "ior", "iand", "ixor", "iconcat", "imul")),
        *(f"numpy.{name}" for name in ("put", "copyto", "place", "putmask", "fill_diagonal", "put_along_axis")),
        "builtins.setattr", "builtins.delattr", "builtins.vars",
    }
)  # fmt: skip
ACCESSORS = frozenset({"get", "setdefault", "values", "items", "pop", "popleft", "__getitem__"})  # they return parts
PASSING = frozenset({"enumerate", "zip", "iter", "next", "reversed", "filter", "getattr"})  # these do, too
