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

# Ids by the word of the path before `{id}`: objects that stay, and others that a call may use up.
LASTING = WORLD["lasting"]
SPARE = WORLD["spare"]
# What the run calls with, and hangs on: whoever removes it is locked out for the rest of the run.
PROTECTED = set(WORLD["protected"])


# The same numbers in two runs: the same requests in the same order, and the same answers.
TOLD = {"requests": 0, "sent": 0, "answered": 0}
atexit.register(lambda: print("{requests} requests, digest {sent:08x}, answers {answered:08x}".format(**TOLD)))


# What is another in each run, by a word that stays. Some requests are made from others, with what they were given here.
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
    # Now and then what was made up stays: a 404 is an answer too.
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
        # The same key with another body is refused before the body is looked at.
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
    # Only the server can make a cursor; made-up ones have their own tests (400 INVALID_CURSOR).
    query.pop("cursor", None)
    # 30 s of waiting for nothing.
    query.pop("wait", None)
    if use:
        for name, word in (("project", "projects"), ("deploymentId", "deployments"), ("managerId", "managers")):
            if name in query and LASTING.get(word):
                query[name] = pick(LASTING[word], salt)
    # Keys that imply no project must name one: the document cannot make a parameter depend on the credential.
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
# Of these several forms or values do; of the others the first object has what the rest hang on.
ANY = {"project", "email"}
# Instants that must lie ahead: a schema knows no "now". Compared with a fixed year, so that no choice depends on the day.
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


# Of each name only one is free. The edges of everything else come with the simplest name, all with the same one.
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
        # Only a deployment group's token implies them.
        body.setdefault("project", LASTING["projects"][0])
        body.setdefault("deploymentGroupId", LASTING["deployment-groups"][0])
    if operation == "operations.enableBuiltins" and isinstance(body.get("names"), list):
        # Without it nothing can be asked for, from then on.
        body["names"] = ["kubernetes", *(each for each in body["names"] if each != "kubernetes")][:64]
    if operation == "sync.reconcile" and isinstance(body.get("state"), dict):
        # Of a deployment on Kubernetes that nobody has leased.
        body["state"].update({"protocolVersion": 1, "platform": "kubernetes"})
        body["state"].pop("environmentInfo", None)
        body.pop("session", None)


def protect(case):
    for name, value in list(case.path_parameters.items()):
        if isinstance(value, str) and value in PROTECTED and case.operation.method.upper() != "GET":
            # Of the same form, and nobody's.
            prefix, _, rest = value.partition("_")
            case.path_parameters[name] = prefix + "_" + "0" * len(rest)
    if isinstance(case.body, dict) and isinstance(case.body.get("ids"), list):
        case.body["ids"] = [each for each in case.body["ids"] if str(each) not in PROTECTED]


# What the server says when a schema is not met, as a whole. Any other 400 is by a rule that no schema says; what such a rule
# says of a field reads otherwise ("is required when status is ready"), or it would pass for the document's mistake.
BY_SCHEMA = re.compile(
    r"must be (string|object|integer|number|boolean|array|null|either .+|equal to .+|[<>]=? \S+|multiple of \S+)"
    r"|must (not )?(match|have|contain|be valid).*|property names .+|is required|is not a known key|does not fit its schema"
)
# No rules: 400 for what is no JSON at all.
SYNTAX = {"MALFORMED_JSON", "ROUTE_NOT_FOUND", "WORKSPACE_REQUIRED", "INVALID_CURSOR"}
# The run has lost its credential, and would be content with everything from now on.
LOCKED_OUT = re.compile(r"UNAUTHENTICATED|API_KEY_.+|TOKEN_EXPIRED")

# 503 with Retry-After is these routes' answer to the state of a manager, or to there being no git host: nothing broke.
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
        # The relay's two paths are WebSockets; schemathesis speaks none (src/platform/relay has their tests).
        return False
    if code == "VALIDATION_ERROR":
        issues = (body.get("context") or {}).get("issues") or []
        return not issues or any(BY_SCHEMA.fullmatch(issue["message"]) for issue in issues)
    # That the code is one of the operation's is checked by response_schema_conformance.
    return code in SYNTAX or LOCKED_OUT.fullmatch(code) is not None
