"""What schemathesis cannot read in the document: which objects exist, and which rules no schema can say.

Loaded by `npm run test:api-fuzz` (main.ts), which writes what exists into the file that SALLYPORT_FUZZ_WORLD names.
"""

import atexit
import copy
import json
import os
import re
import zlib

import schemathesis
from schemathesis.core.parameters import ParameterLocation

with open(os.environ["SALLYPORT_FUZZ_WORLD"], encoding="utf-8") as file:
    WORLD = json.load(file)

# Ids by the word that stands before `{id}` in a path: objects that stay, and objects that a call may delete or use up.
LASTING = WORLD["lasting"]
SPARE = WORLD["spare"]
# The credential and the objects that the run depends on: a call that deletes one would stop the rest of the run.
PROTECTED = set(WORLD["protected"])


# Equal numbers in two runs mean the same requests in the same order, and the same answers.
TOLD = {"requests": 0, "sent": 0, "answered": 0}
atexit.register(lambda: print("{requests} requests, digest {sent:08x}, answers {answered:08x}".format(**TOLD)))


# Ids differ in each run: each is replaced by a fixed word, because some requests are made from earlier ones that hold ids.
WORDS = {
    text: f"{kind} {word} {index}"
    for kind, objects in (("lasting", LASTING), ("spare", SPARE))
    for word, values in objects.items()
    for index, text in enumerate(values)
    if text
} | {WORLD["inAnHour"]: "in an hour"}
ANY_OF_WORDS = re.compile("|".join(map(re.escape, WORDS)))


def salt_of(case):
    """The same request meets the same objects in every run: what it holds, and nothing of where that lies in memory."""
    parts = [case.operation.label, case.path_parameters, case.query, case.body]
    text = json.dumps(parts, default=lambda value: repr(value) if isinstance(value, bytes) else "", sort_keys=True)
    return ANY_OF_WORDS.sub(lambda found: WORDS[found.group()], text)


def pick(values, salt):
    return values[zlib.crc32(salt.encode()) % len(values)] if values else None


def operation_id(case):
    return case.operation.definition.raw.get("operationId")


def is_positive(case, location):
    info = case.meta.components.get(location) if case.meta is not None else None
    return info is None or info.mode.is_positive


def owner_of(path, name):
    """`/v1/machines/deployments/{id}/drain` → `deployments`."""
    before = path.split("{" + name + "}")[0].strip("/").split("/")
    known = {"idOrName": "projects", "deploymentId": "deployments", "token": "token"}
    return known.get(name, before[-1])


@schemathesis.hook
def before_call(context, case, kwargs):
    salt = salt_of(case)
    TOLD["requests"] += 1
    TOLD["sent"] = zlib.crc32(salt.encode(), TOLD["sent"])
    case.path_parameters, case.query = dict(case.path_parameters or {}), dict(case.query or {})
    # One request in eight keeps its invented ids: a 404 is an answer too.
    use = zlib.crc32((salt + "?").encode()) % 8 != 0
    if use and is_positive(case, ParameterLocation.PATH):
        existing_path(case, salt)
    own_workspace(case.query)
    if is_positive(case, ParameterLocation.QUERY):
        existing_query(case, salt, use)
    if use and is_positive(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        case.body = copy.deepcopy(case.body)
        existing_body(case.body, salt)
        possible_body(operation_id(case), case.body, salt)
    if is_positive(case, ParameterLocation.HEADER) and "Idempotency-Key" in (case.headers or {}):
        # The platform refuses a used key with another body before it reads the body, so each request gets its own key.
        case.headers["Idempotency-Key"] = f"{zlib.crc32(salt.encode()):08x}"
    protect(case)


@schemathesis.hook
def after_call(context, case, response):
    TOLD["answered"] = zlib.crc32(str(response.status_code).encode(), TOLD["answered"])


USES_UP = ("/delete", "/cancel-setup", "/queue", "/reject")


def existing_path(case, salt):
    path = case.operation.path
    uses_up = path.endswith(USES_UP) or (path.endswith("}") and case.operation.method.upper() == "DELETE")
    for name in list(case.path_parameters):
        # `DELETE /v1/workspaces/{id}/members/{userId}` uses up a member.
        is_last = path.rindex("{") == path.index("{" + name + "}")
        objects = (SPARE if uses_up and is_last else LASTING).get(owner_of(path, name))
        found = pick(objects, salt)
        if found is not None and not isinstance(case.path_parameters[name], dict):
            case.path_parameters[name] = found


WORKSPACE_NAME = re.compile(r"(?!ws[-_])[a-z0-9](-?[a-z0-9])*")


def own_workspace(query):
    """Another workspace's name is refused before anything else is looked at. A key's own is implied."""
    name = query.get("workspace")
    if isinstance(name, str) and 4 <= len(name) <= 100 and WORKSPACE_NAME.fullmatch(name):
        del query["workspace"]
        if WORLD.get("workspace"):
            query["workspace"] = WORLD["workspace"]


def existing_query(case, salt, use):
    query = case.query
    # Only the server can make a cursor; invented ones have their own tests (400 INVALID_CURSOR).
    query.pop("cursor", None)
    # Otherwise each of these calls would wait for up to 30 s.
    query.pop("wait", None)
    if use:
        for name, word in (("project", "projects"), ("deploymentId", "deployments"), ("managerId", "managers")):
            if name in query and LASTING.get(word):
                query[name] = pick(LASTING[word], salt)
    # A key of the whole workspace must name a project. OpenAPI cannot say that a parameter depends on the credential.
    if operation_id(case) in WORLD["needProject"] and "project" not in query:
        query["project"] = pick(LASTING["projects"], salt)


IDS = {
    "project": "projects",
    "projectId": "projects",
    "deploymentId": "deployments",
    "deploymentGroupId": "deployment-groups",
    "managerId": "managers",
    "releaseId": "releases",
    "pinnedReleaseId": "releases",
    "requestId": "access-requests",
    "commandId": "commands",
    "builderId": "builderId",
    "email": "email",
}
# Fields for which any of the objects will do. For the others the first object is taken, on which the rest depend.
ANY = {"project", "email"}
# Instants that must lie in the future, which a schema cannot say. Compared with a fixed year, so that every day gives
# the same requests.
AHEAD = {"expiresAt", "deadline", "approvedUntil"}


def existing_body(body, salt):
    for name, value in list(body.items()):
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                existing_body(inner, salt)
        if name == "deploymentIds" and isinstance(value, list):
            body[name] = LASTING.get("deployments", [])[: len(value)]
        elif isinstance(value, str) and LASTING.get(IDS.get(name, "")):
            body[name] = pick(LASTING[IDS[name]], salt) if name in ANY else LASTING[IDS[name]][0]
        elif isinstance(value, str) and name in AHEAD and value < "2100":
            body[name] = WORLD["inAnHour"]


# Names must be unique, and schemathesis sends the same simple name with each edge of another field: a used name is
# replaced.
FREE = {"name": "fuzz-{:08x}", "version": "0.1.{:d}"}
NAMED = ("projects", "managers", "releases", "releaseChannels", "deploymentGroups", "deployments", "workspaces")
TAKEN = set()


def possible_body(operation, body, salt):
    """Changes what would be refused for one thing, and always the same."""
    area, verb = operation.split(".")
    for name, form in FREE.items() if area in NAMED and verb == "create" else ():
        value = body.get(name)
        if isinstance(value, str) and (area, value) in TAKEN:
            body[name] = form.format(zlib.crc32(salt.encode()))
        elif isinstance(value, str):
            TAKEN.add((area, value))
    if operation == "deployments.create":
        # Only a deployment group's token may leave them out.
        body.setdefault("project", LASTING["projects"][0])
        body.setdefault("deploymentGroupId", LASTING["deployment-groups"][0])
    if operation == "releases.create" and isinstance(body.get("stack"), dict):
        # What resources must not be to each other, no schema can say.
        if isinstance(body["stack"].get("kubernetes"), dict):
            body["stack"]["kubernetes"]["resources"] = {}
    if operation == "operations.enableBuiltins" and isinstance(body.get("names"), list):
        # Without this plugin the platform would refuse every later request.
        body["names"] = ["kubernetes", *(each for each in body["names"] if each != "kubernetes")][:64]
    if operation == "sync.reconcile" and isinstance(body.get("state"), dict):
        # Fits a deployment on Kubernetes without a lease.
        body["state"].update({"protocolVersion": 1, "platform": "kubernetes"})
        body["state"].pop("environmentInfo", None)
        body.pop("session", None)


def protect(case):
    for name, value in list(case.path_parameters.items()):
        if isinstance(value, str) and value in PROTECTED and case.operation.method.upper() != "GET":
            # An id of the same form that no object has.
            prefix, _, rest = value.partition("_")
            case.path_parameters[name] = prefix + "_" + "0" * len(rest)
    if isinstance(case.body, dict) and isinstance(case.body.get("ids"), list):
        case.body["ids"] = [each for each in case.body["ids"] if str(each) not in PROTECTED]


# The server's whole messages for a value that does not fit its schema. Every other 400 is by a rule that no schema can
# say. Such a rule's message must differ from these ("is required when status is ready"), or it would count as a mistake
# of the document.
BY_SCHEMA = re.compile(
    r"must be (string|object|integer|number|boolean|array|null|either .+|equal to .+|[<>]=? \S+|multiple of \S+)"
    r"|must (not )?(match|have|contain|be valid).*|property names .+|is required|is not a known key|does not fit its schema"
)
# Codes that are no such rules: for instance 400 for a body that is not JSON.
SYNTAX = {"MALFORMED_JSON", "ROUTE_NOT_FOUND", "WORKSPACE_REQUIRED", "INVALID_CURSOR"}
# The run has lost its credential; from then on it would test nothing.
LOCKED_OUT = re.compile(r"UNAUTHENTICATED|API_KEY_.+|TOKEN_EXPIRED")

# 503 with Retry-After: the manager is not ready, or there is no git host. These answers are no failures.
NOT_YET = {"MANAGER_NOT_READY", "MANAGER_UNAVAILABLE"}
WITHOUT_GIT_HOST = ("gitNamespaces.sync", "gitNamespaces.listRepositories")


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """A request that fits its schema may still break a rule; then it must be by a documented code, and no schema's."""
    try:
        body = response.json()
    except ValueError:
        return True
    code = body.get("code") if isinstance(body, dict) else None
    if not isinstance(code, str):
        return True
    if type(failure).__name__ == "ServerError":
        expected = code in NOT_YET or (code == "GIT_HOST_NOT_CONFIGURED" and operation_id(case) in WITHOUT_GIT_HOST)
        return not (response.status_code in (501, 503) and expected)
    if type(failure).__name__ != "RejectedPositiveData":
        return True
    if code == "UPGRADE_REQUIRED":
        # The relay's two paths are WebSockets, which schemathesis cannot open (src/platform/relay has their tests).
        return False
    if code == "VALIDATION_ERROR":
        issues = (body.get("context") or {}).get("issues") or []
        return not issues or any(BY_SCHEMA.fullmatch(issue["message"]) for issue in issues)
    # The check response_schema_conformance verifies that the code is one of the operation's.
    return code in SYNTAX or LOCKED_OUT.fullmatch(code) is not None
