"""The document of a run in the log, as JSON: plan, trace plan, sources and settings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whence.errors import Damaged, FutureVersion
from whence.rows import Source, walk
from whence.rows.documents import StoredPlan, plan_document, read_plan
from whence.rows.documents.values import type_of, value_json, value_of
from whence.rows.eager import WITNESSES
from whence.rows.questions.restrict import sources as sources_of
from whence.spark.running.fingerprint import SETTINGS
from whence.spark.sources.files import FORMATS
from whence.spark.sources.kind import Listing
from whence.spark.sources.options import OPTIONS
from whence.spark.sources.registry import kind_of
from whence.spark.sources.stored import StoredLeaf

if TYPE_CHECKING:
    from whence.rows.saving import TracePlan
    from whence.spark.analysis import Analysis

FORMAT, VERSION = "whence run", 1
LARGEST = 64 << 20  # the most bytes of a document
READ = {"occurrences", "format", "files", "uris", "partitions", "schema", "options", "lost"}
IN_MEMORY = "its rows were in memory, and a log does not hold them"
ELSEWHERE = "the log does not say how it was read"


@dataclass(frozen=True, slots=True)
class RunDocument:
    """The contents of a run's document. `settings` are Spark's, `witness` is the pipeline's."""

    stored: StoredPlan
    settings: dict[str, str]
    witness: str


def run_document(analysis: Analysis, trace: TracePlan) -> bytes:
    """Write the document of a run."""
    reads: dict[str, dict[str, Any]] = {}
    copies = (part for part in walk(analysis.plan) if isinstance(part, Source) and part.is_domain_copy)
    for source in {each.occurrence: each for each in (*analysis.sources, *copies)}.values():
        read = _read(source)
        reads.setdefault(json.dumps(read), {**read, "occurrences": []})["occurrences"].append(source.occurrence)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "plan": plan_document(analysis.plan, trace),
        "reads": list(reads.values()),
        "settings": {name: str(analysis.session.conf.get(name)) for name in SETTINGS},
        "witness": analysis.settings.witness,
    }
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode()


def _read(source: Source) -> dict[str, Any]:
    """How a source was read, as JSON."""
    kind, leaf = kind_of(source.origin), source.origin
    listing, reading = kind.listing(leaf), kind.reading(leaf)
    schema, options = (None, {}) if reading is None else reading
    lost = "" if reading is not None else ELSEWHERE if source.paths or source.format != "memory" else IN_MEMORY
    found: dict[str, Any] = {"format": source.format, "schema": None if schema is None else json.loads(schema)}
    found |= {"options": options, "lost": lost, "files": None, "uris": None, "partitions": {}}
    if listing is not None:
        values = {name: [value_json(each) for each in of] for name, of in listing.partition_values.items()}
        found |= {"files": list(listing.files), "uris": list(listing.uris), "partitions": values}
    return found


def read_document(data: bytes) -> RunDocument:
    """Read a run's document. It may come from an untrusted log: every part is checked, and nothing is executed."""
    if len(data) > LARGEST:
        raise Damaged(f"the stored run has {len(data):,} bytes, which is too many")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"the stored run is not JSON: {error}") from error
    names = {"format", "version", "plan", "reads", "settings", "witness"}
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise Damaged("this is not a stored run")
    version = document.get("version")
    if type(version) is int and version > VERSION:
        raise FutureVersion(
            f"the run was stored by a newer whence, in version {version}; this one reads {VERSION}: upgrade"
        )
    if version != VERSION or set(document) != names:
        raise Damaged("the stored run has no version, or missing or unknown fields")
    settings, witness = document["settings"], document["witness"]
    if not _is_text_map(settings) or set(settings) != set(SETTINGS) or witness not in WITNESSES:
        raise Damaged("the settings of the stored run are damaged")
    stored = read_plan(document["plan"], _leaves(document["reads"]))
    uses = () if stored.trace is None else stored.trace.uses
    for source in (*sources_of(stored.plan), *(use.source for use in uses)):
        if source.origin is None:
            raise Damaged(f"the stored run does not say how source {source.name!r} was read")
    return RunDocument(stored, settings, witness)


def _leaves(reads: object) -> dict[int, object]:
    if not isinstance(reads, list):
        raise Damaged("the sources of the stored run are damaged: a list is expected")
    found: dict[int, object] = {}
    for place, read in enumerate(reads):
        where = f"source {place} of the stored run"
        if not isinstance(read, dict) or set(read) != READ or not _are(read["occurrences"], int):
            raise Damaged(f"{where} is damaged: it has missing or unknown fields")
        found |= dict.fromkeys(read["occurrences"], _leaf(read, where))
    return found


def _leaf(read: dict[str, Any], where: str) -> StoredLeaf:
    if not isinstance(read["lost"], str) or not isinstance(read["format"], str):
        raise Damaged(f"{where} is damaged: its format is not a string")
    if not read["lost"] and read["format"] not in FORMATS:
        raise Damaged(f"{where} has a format that whence does not read: {read['format'][:40]!r}")
    options = read["options"]
    if not _is_text_map(options) or any(name.lower() not in OPTIONS for name in options):
        raise Damaged(f"{where} has options that whence does not pass to Spark")
    schema = "" if read["schema"] is None else type_of(read["schema"], where)
    return StoredLeaf(read["format"], _listing(read, where), schema, options, read["lost"])


def _listing(read: dict[str, Any], where: str) -> Listing | None:
    files, uris, partitions = read["files"], read["uris"], read["partitions"]
    if files is None:
        return None
    if not _are(files, str) or not files or not _are(uris, str) or len(uris) != len(files):
        raise Damaged(f"the files of {where} are damaged")
    if not isinstance(partitions, dict) or not all(
        isinstance(values, list) and len(values) == len(files) for values in partitions.values()
    ):
        raise Damaged(f"the partition columns of {where} are damaged")
    values = {name: tuple(value_of(each, where) for each in of) for name, of in partitions.items()}
    return Listing(tuple(files), tuple(uris), values)


def _are(given: object, kind: type) -> bool:
    return isinstance(given, list) and all(type(each) is kind for each in given)


def _is_text_map(given: object) -> bool:
    return isinstance(given, dict) and all(isinstance(each, str) for pair in given.items() for each in pair)
