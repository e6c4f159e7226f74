"""A frozen dataclass, understood: read from a form or from JSON, written back, and described by a schema.

Everything here works from a `Shape`, which `shape_of` reads from the class once. This room is pure: it needs the standard
library alone and knows nothing of routes, callers or deployments.
"""

from meridian.errors import Problem
from meridian.records.path import EVERY, Every, Path, Step, parse_path, pattern_of, print_path
from meridian.records.reading import Reading, as_sent, form_pairs, read_form, read_json, read_query, read_value
from meridian.records.schema import paths, schema
from meridian.records.shape import (
    Boolean,
    Cell,
    Choice,
    Date,
    DateTime,
    DecimalKind,
    FieldShape,
    Integer,
    JsonObject,
    Kind,
    Mapping,
    RecordKind,
    Rows,
    Shape,
    Text,
    Time,
    Uuid,
    field,
    refuse_reserved,
    shape_of,
)
from meridian.records.writing import write_form, write_json, write_value

__all__ = [
    "EVERY",
    "Boolean",
    "Cell",
    "Choice",
    "Date",
    "DateTime",
    "DecimalKind",
    "Every",
    "FieldShape",
    "Integer",
    "JsonObject",
    "Kind",
    "Mapping",
    "Path",
    "Problem",
    "Reading",
    "RecordKind",
    "Rows",
    "Shape",
    "Step",
    "Text",
    "Time",
    "Uuid",
    "as_sent",
    "field",
    "form_pairs",
    "parse_path",
    "paths",
    "pattern_of",
    "print_path",
    "read_form",
    "read_json",
    "read_query",
    "read_value",
    "refuse_reserved",
    "schema",
    "shape_of",
    "write_form",
    "write_json",
    "write_value",
]
