"""Holds the golden result records against docs/result.schema.json, both ways.

Every record must be valid; and with any one required key taken out, or any one value replaced by one of another type,
it must not be. So a schema that has become too lax fails here as well as one that is too strict.

usage: check_schema.py SCHEMA RECORD...
"""

import copy
import json
import sys

import jsonschema


def places(value, path=()):
    """Every place in a JSON value, from the outside in."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, path + (key,))


def with_change(record, path, change):
    """A copy of the record in which change(container, key) was applied at a place."""
    changed = copy.deepcopy(record)
    container = changed
    for key in path[:-1]:
        container = container[key]
    change(container, path[-1])
    return changed


def replace_by_other_type(container, key):
    container[key] = 7 if isinstance(container[key], (str, list, dict, bool)) else "seven"


def remove(container, key):
    del container[key]


def is_free(path):
    """Keys of maps (statuses, details, ...), list items and the one optional object may be absent."""
    maps = {"statuses", "mix", "parts", "histograms", "details", "limits", "versions", "evidence", "context", "attachments"}
    return isinstance(path[-1], int) or path[-1] == "open_loop" or (len(path) > 1 and path[-2] in maps)


def complaints(validator, name, record):
    for error in validator.iter_errors(record):
        yield f"{name}: {error.json_path}: {error.message}"
    for path in places(record):
        if not path:
            continue
        where = f"{name}: {'.'.join(map(str, path))}"
        if validator.is_valid(with_change(record, path, replace_by_other_type)):
            yield f"{where}: a value of another type is accepted"
        if not is_free(path) and validator.is_valid(with_change(record, path, remove)):
            yield f"{where}: is not required"


def main(schema_file, *record_files):
    with open(schema_file, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    found = []
    for name in record_files:
        with open(name, encoding="utf-8") as file:
            found += complaints(validator, name, json.load(file))
    print("\n".join(found) or "all records are valid, and all changed ones are not")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
