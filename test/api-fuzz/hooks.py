"""What schemathesis cannot read in the document: which objects exist, and which rules no schema can say.

Loaded by `npm run test:api-fuzz` (main.ts), which writes what exists into the file that SALLYPORT_FUZZ_WORLD names.
"""

import json
import os
import re
import zlib
from datetime import datetime, timezone

import schemathesis
from schemathesis.core.parameters import ParameterLocation

with open(os.environ["SALLYPORT_FUZZ_WORLD"], encoding="utf-8") as file:
    WORLD = json.load(file)

# Ids by the word of the path before `{id}`: objects that stay, and others that a call may use up.
LASTING = WORLD["lasting"]
SPARE = WORLD["spare"]
# The key that the run calls with, its workspace: whoever removes them is locked out for the rest of the run.
PROTECTED = set(WORLD["protected"])


def pick(values, salt):
    """The same request meets the same object in every run."""
    return values[zlib.crc32(salt.encode()) % len(values)] if values else None


def is_positive(case, location):
    info = case.meta.components.get(location) if case.meta is not None else None
    return info is None or info.mode.is_positive


def owner_of(path, name):
    """`/v1/machines/deployments/{id}/drain` → `deployments`."""
    before = path.split("{" + name + "}")[0].strip("/").split("/")
    return "projects" if name == "idOrName" else "deployments" if name == "deploymentId" else before[-1]


@schemathesis.hook
def before_call(context, case, kwargs):
    salt = json.dumps([case.path_parameters, case.query, str(case.body)], default=str, sort_keys=True)
    use = zlib.crc32((salt + "?").encode()) % 8 != 0
    if use and is_positive(case, ParameterLocation.PATH):
        existing_path(case, salt)
    if is_positive(case, ParameterLocation.QUERY):
        existing_query(case, salt, use)
    if is_positive(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        if use:
            existing_body(case.body, salt)
        # As `project` in the query: only some credentials imply it. So always, even beside ids that do not exist.
        if case.operation.definition.raw.get("operationId") == "deployments.create":
            case.body.setdefault("project", LASTING["projects"][0])
            case.body.setdefault("deploymentGroupId", LASTING["deployment-groups"][0])
    protect(case)


def existing_path(case, salt):
    path = case.operation.path
    uses_up = case.operation.method.upper() == "DELETE" or path.endswith(("/delete", "/cancel-setup", "/queue", "/reject"))
    for name in list(case.path_parameters or {}):
        objects = (SPARE if uses_up else LASTING).get(owner_of(path, name))
        found = pick(objects, salt)
        if found is not None and not isinstance(case.path_parameters[name], dict):
            case.path_parameters[name] = found


def existing_query(case, salt, use):
    query = case.query
    if not query:
        query = case.query = {} if query is None else query
    # A key's workspace is implied, and any other name is refused before the route is reached.
    query.pop("workspace", None)
    # Only the server can make a cursor; made-up ones have their own tests (400 INVALID_CURSOR).
    query.pop("cursor", None)
    # 30 s of waiting for nothing.
    query.pop("wait", None)
    if use:
        for name, word in (("project", "projects"), ("deploymentId", "deployments"), ("managerId", "managers")):
            if name in query and LASTING.get(word):
                query[name] = pick(LASTING[word], salt)
    # Keys that imply no project must name one: the document cannot make a parameter depend on the credential.
    if case.operation.definition.raw.get("operationId") in WORLD["needProject"] and "project" not in query:
        query["project"] = pick(LASTING["projects"], salt)


IDS = {
    "project": "projects",
    "projectId": "projects",
    "deploymentId": "deployments",
    "deploymentGroupId": "deployment-groups",
    "managerId": "managers",
    "releaseId": "releases",
    "pinnedReleaseId": "releases",
}
# Instants that must lie ahead: a schema knows no "now".
AHEAD = {"expiresAt", "deadline", "approvedUntil"}


def existing_body(body, salt):
    for name, value in list(body.items()):
        if isinstance(value, dict):
            existing_body(value, salt)
        elif isinstance(value, str) and LASTING.get(IDS.get(name, "")):
            # `project` takes a name too, the others ids only.
            body[name] = pick(LASTING[IDS[name]], salt) if name == "project" else LASTING[IDS[name]][0]
        elif isinstance(value, str) and name in AHEAD and is_past(value):
            body[name] = WORLD["inAnHour"]


def is_past(text):
    try:
        return datetime.fromisoformat(text.upper().replace("Z", "+00:00")) <= datetime.now(timezone.utc)
    except (ValueError, TypeError):
        return False


def protect(case):
    for name, value in list((case.path_parameters or {}).items()):
        if value in PROTECTED and case.operation.method.upper() != "GET":
            # Of the same form, and nobody's.
            prefix, _, rest = value.partition("_")
            case.path_parameters[name] = prefix + "_" + "0" * len(rest)
    if isinstance(case.body, dict) and isinstance(case.body.get("ids"), list):
        case.body["ids"] = [each for each in case.body["ids"] if str(each) not in PROTECTED]


# What the server says when a schema is not met; any other 400 is a rule that the operation's description names.
BY_SCHEMA = re.compile(
    r"(must be (string|object|integer|number|boolean|array|null|equal|[<>]=?|multiple)|must match|must (not )?have"
    r"|is required|is not a known key|does not fit|contains NUL|has a key with|is nested)"
)
# No rules: 400 for what is no JSON at all.
SYNTAX = {"MALFORMED_JSON", "ROUTE_NOT_FOUND", "WORKSPACE_REQUIRED", "INVALID_CURSOR"}


# 503 is these routes' answer to the state of a manager, with Retry-After: nothing broke.
NOT_YET = {"MANAGER_NOT_READY", "MANAGER_UNAVAILABLE"}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """A request that fits its schema may still break a rule; then it must be by a documented code, and no schema's."""
    try:
        body = response.json()
    except ValueError:
        return True
    code = body.get("code") if isinstance(body, dict) else None
    if type(failure).__name__ == "ServerError":
        return not (response.status_code == 503 and code in NOT_YET)
    if type(failure).__name__ != "RejectedPositiveData":
        return True
    if code == "UPGRADE_REQUIRED":
        # The relay's two paths are WebSockets; schemathesis speaks none (src/platform/relay has their tests).
        return False
    if code == "VALIDATION_ERROR":
        issues = (body.get("context") or {}).get("issues") or []
        return not issues or any(BY_SCHEMA.search(issue["message"]) for issue in issues)
    # That the code is one of the operation's is checked by response_schema_conformance.
    return code in SYNTAX
