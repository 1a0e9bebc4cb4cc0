import { describe, expect, test } from "vitest";
import { DEBUG_MODES, type DebugMode } from "../../contract/debug-sessions/debug-sessions.ts";
import { statusBody } from "../../debug-link/status-body.ts";
import { type ClientRequest, judge, type Scope } from "./judge.ts";

const scope = (mode: DebugMode, more: Partial<Scope> = {}): Scope => ({
  ...{ mode, namespace: "shop", recordingRequired: true, leftSeconds: 600, ...more },
});
const get = (target: string, more: Partial<ClientRequest> = {}): ClientRequest => ({
  ...{ method: "GET", target, headers: {}, ...more },
});

const LOG_ROWS = ["pods:get,list,watch", "pods/log:get"];
const OWNERS = [
  "apps/deployments:get",
  "apps/replicasets:get",
  "apps/statefulsets:get",
  "apps/daemonsets:get",
  "batch/jobs:get",
  "batch/cronjobs:get",
];
const ALL = (names: readonly string[]): string[] => names.map((name) => `${name}:get,list,watch`);
const ALLOWED: Readonly<Record<DebugMode, readonly string[]>> = {
  logs: [...LOG_ROWS, ...OWNERS],
  read: [
    ...LOG_ROWS,
    ...ALL(["services", "endpoints", "events", "persistentvolumeclaims", "replicationcontrollers"]),
    ...ALL(["events.k8s.io/events", "discovery.k8s.io/endpointslices"]),
    ...ALL(["apps/deployments", "apps/replicasets", "apps/statefulsets", "apps/daemonsets", "batch/jobs"]),
    ...ALL(["batch/cronjobs", "autoscaling/horizontalpodautoscalers", "policy/poddisruptionbudgets"]),
    ...ALL(["networking.k8s.io/ingresses", "networking.k8s.io/networkpolicies"]),
    "metrics.k8s.io/pods:get,list",
  ],
  exec: [...LOG_ROWS, ...OWNERS, "pods/exec:get,create"],
  "port-forward": ["pods:get,list,watch", ...OWNERS, "services:get,list", "pods/portforward:get,create"],
};

const SUBJECTS = [
  ...["pods", "pods/log", "pods/exec", "pods/portforward", "pods/attach", "pods/proxy", "pods/ephemeralcontainers"],
  ...["pods/eviction", "services", "services/proxy", "secrets", "configmaps", "serviceaccounts", "events", "endpoints"],
  ...["serviceaccounts/token", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas"],
  ...["apps/deployments", "apps/deployments/scale", "apps/replicasets", "apps/statefulsets", "apps/daemonsets"],
  ...["batch/jobs", "batch/cronjobs", "autoscaling/horizontalpodautoscalers", "policy/poddisruptionbudgets"],
  ...["networking.k8s.io/ingresses", "networking.k8s.io/networkpolicies", "discovery.k8s.io/endpointslices"],
  ...["events.k8s.io/events", "metrics.k8s.io/pods", "rbac.authorization.k8s.io/roles"],
  ...["rbac.authorization.k8s.io/rolebindings", "sallyport.dev/debugsessions", "coordination.k8s.io/leases"],
];
const VERBS = ["get", "list", "watch", "create"] as const;

/** `[group/]resource[/subresource]`, where a group is core, or has a known name. */
function partsOf(subject: string): readonly [group: string, resource: string, subresource: string | undefined] {
  const parts = subject.split("/");
  const isCore = !/\./.test(parts[0] ?? "") && !["apps", "batch", "autoscaling", "policy"].includes(parts[0] ?? "");
  const [group = "", resource = "", subresource] = isCore ? ["", ...parts] : parts;
  return [group, resource, subresource];
}

function requestFor(subject: string, verb: (typeof VERBS)[number], namespace: string): ClientRequest {
  const [group, resource, subresource] = partsOf(subject);
  const root = group === "" ? "/api/v1" : `/apis/${group}/v1`;
  const hasName = subresource !== undefined || verb === "get";
  const path = `${root}/namespaces/${namespace}/${resource}${hasName ? "/web-1" : ""}`;
  const isUpgraded = subresource === "exec" || subresource === "portforward";
  const upgrade = isUpgraded ? (verb === "create" ? "spdy/3.1" : "websocket") : undefined;
  const target = `${path}${subresource === undefined ? "" : `/${subresource}`}${verb === "watch" ? "?watch=true" : ""}`;
  const protocol = subresource === "exec" ? "v5.channel.k8s.io, channel.k8s.io" : "SPDY/3.1+portforward.k8s.io";
  const headers = upgrade === "websocket" ? { "sec-websocket-protocol": protocol } : {};
  return { method: verb === "create" ? "POST" : "GET", target, headers, upgrade };
}

describe.each(DEBUG_MODES)("%s", (mode) => {
  const allowed = new Set(
    ALLOWED[mode].flatMap((row) => {
      const [subject = "", verbs = ""] = row.split(":");
      return verbs.split(",").map((verb) => `${subject} ${verb}`);
    }),
  );
  const cases = SUBJECTS.flatMap((subject) => VERBS.map((verb) => [subject, verb] as const)).filter(
    // A subresource has a name, and so no list.
    ([subject, verb]) => partsOf(subject)[2] === undefined || verb === "get" || verb === "create",
  );

  test.each(cases)("%s %s", (subject, verb) => {
    const here = scope(mode, { recordingRequired: false });
    const verdict = judge(here, requestFor(subject, verb, "shop"));
    expect(verdict.allowed).toBe(allowed.has(`${subject} ${verb}`));
    for (const other of ["kube-system", "shop2", "shop.x"]) {
      expect(judge(here, requestFor(subject, verb, other)).allowed, other).toBe(false);
    }
  });

  test("nothing of all namespaces, of nodes, of another form of the path", () => {
    for (const target of [
      "/api/v1/pods",
      "/api/v1/nodes",
      "/api/v1/namespaces",
      "/api/v1/namespaces/shop",
      "/api/v1/watch/namespaces/shop/pods",
      "/api/v1/proxy/namespaces/shop/pods/web-1",
      "/api/v1/namespaces/shop/pods/web-1/log/x",
      "/apis/apps/v1/deployments",
      "/metrics",
      "/logs/kube-apiserver.log",
      "/healthz",
      "/openapi/v2",
      "/api/v2x/namespaces/shop/pods",
    ]) {
      expect(judge(scope(mode), get(target)).allowed, target).toBe(false);
    }
  });

  test.each([
    "/version",
    "/api",
    "/apis",
    "/api/v1",
    "/apis/apps",
    "/apis/apps/v1",
    "/openapi/v3/apis/apps/v1?hash=A1",
  ])("discovery at %s", (target) => expect(judge(scope(mode), get(target))).toMatchObject({ allowed: true, target }));

  test.each(["PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "get"])("no %s", (method) => {
    const verdict = judge(scope(mode), get("/api/v1/namespaces/shop/pods/web-1", { method }));
    expect(verdict).toMatchObject({ allowed: false, status: 405, denial: "method" });
  });
});

test("reviews of one's own rights have a body, and nothing else has", () => {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  expect(judge(scope("logs"), get(path, { method: "POST" }))).toMatchObject({ allowed: true, hasBody: true });
  for (const target of [
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    "/apis/authorization.k8s.io/v1/namespaces/shop/localsubjectaccessreviews",
    "/apis/authentication.k8s.io/v1/tokenreviews",
    "/api/v1/namespaces/shop/pods",
  ]) {
    expect(judge(scope("read"), get(target, { method: "POST" })).allowed, target).toBe(false);
  }
});

test("--as is refused in words, never dropped", () => {
  const headers = { "impersonate-user": "admin" };
  const verdict = judge(scope("logs"), get("/api/v1/namespaces/shop/pods", { headers }));
  expect(verdict).toMatchObject({ status: 403, denial: "impersonation", words: expect.stringContaining("--as") });
});

test("a refusal has the API server's own form", () => {
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" };
  expect(JSON.parse(statusBody(403, "no"))).toEqual({
    ...status,
    ...{ message: "sallyport: forbidden: no", reason: "Forbidden", code: 403 },
  });
  expect(JSON.parse(statusBody(502, "lost"))).toMatchObject({
    message: "sallyport: lost",
    reason: "ServiceUnavailable",
  });
});

test("only listed headers go up, and never who the engineer is", () => {
  const headers = {
    accept: "application/json",
    "user-agent": "kubectl/v1.36.3",
    "kubectl-command": "kubectl get",
    authorization: "Bearer x",
    cookie: "a=b",
    host: "evil",
    "x-remote-user": "admin",
    "x-forwarded-for": "1.2.3.4",
    "sec-websocket-key": "k",
  };
  expect(judge(scope("logs"), get("/version", { headers }))).toMatchObject({
    headers: { accept: "application/json", "user-agent": "kubectl/v1.36.3", "kubectl-command": "kubectl get" },
  });
  const bad = judge(scope("logs"), get("/version", { headers: { accept: "a\r\nauthorization: x" } }));
  expect(bad).toMatchObject({ allowed: false, denial: "header" });
});

test("an upgrade goes up without extensions; its method and its protocol belong together", () => {
  const target = "/api/v1/namespaces/shop/pods/web-1/exec?command=ls&container=web&tty=true&stdin=true";
  const headers = {
    "sec-websocket-key": "k",
    "sec-websocket-extensions": "permessage-deflate",
    "sec-websocket-protocol": "v5.channel.k8s.io",
  };
  const verdict = judge(scope("exec"), get(target, { headers, upgrade: "websocket" }));
  expect(verdict).toMatchObject({
    kind: "exec",
    headers: { "sec-websocket-key": "k", "sec-websocket-protocol": "v5.channel.k8s.io" },
    subject: { container: "web", command: ["ls"], tty: true, stdin: true },
  });
  expect(verdict.allowed && verdict.headers).not.toHaveProperty("sec-websocket-extensions");
  const refused = [get(target), get(target, { upgrade: "h2c" }), get(target, { upgrade: "spdy/3.1" })];
  for (const each of refused) expect(judge(scope("exec"), each)).toMatchObject({ status: 400, denial: "method" });
  const version = get("/version", { upgrade: "websocket" });
  expect(judge(scope("exec"), version).allowed).toBe(false);
});

test("an exec over SPDY is refused where a recording is required, also without a terminal; a port-forward is not", () => {
  const post = (sub: string) =>
    get(`/api/v1/namespaces/shop/pods/web-1/${sub}`, { method: "POST", upgrade: "spdy/3.1" });
  const words = expect.stringContaining("KUBECTL_REMOTE_COMMAND_WEBSOCKETS=true");
  for (const query of ["", "?tty=true", "?tty=0", "?stdin=true"]) {
    expect(judge(scope("exec"), post(`exec${query}`))).toMatchObject({ status: 403, denial: "recording", words });
    expect(judge(scope("exec", { recordingRequired: false }), post(`exec${query}`)).allowed).toBe(true);
  }
  expect(judge(scope("port-forward"), post("portforward"))).toMatchObject({ allowed: true, kind: "port-forward" });
});

test.each([
  ["exec", "base64.channel.k8s.io"],
  ["exec", "v5.channel.k8s.io, v4.base64.channel.k8s.io"],
  ["exec", ""],
  ["portforward", "v4.channel.k8s.io"],
  ["portforward", "v5.channel.k8s.io"],
])("%s over the WebSocket protocol %j, which could not be read as it passes, is refused", (sub, protocol) => {
  const headers = { "sec-websocket-protocol": protocol };
  const request = get(`/api/v1/namespaces/shop/pods/web-1/${sub}`, { upgrade: "websocket", headers });
  const mode = sub === "exec" ? "exec" : "port-forward";
  expect(judge(scope(mode), request)).toMatchObject({ status: 403, denial: "recording" });
});

const SHOP = "/api/v1/namespaces/shop";
const LISTED =
  "limit=500&labelSelector=a%3Db&fieldSelector=c%3Dd&continue=x&resourceVersion=1&resourceVersionMatch=Exact";
const FOLLOWED = "follow=true&previous=true&sinceSeconds=1&sinceTime=2026-01-01T00%3A00%3A00Z&timestamps=true";

test.each<readonly [DebugMode, string]>([
  ["read", "/api?timeout=32s"],
  ["read", "/openapi/v3/api/v1?hash=0A&timeout=32s"],
  ["read", `${SHOP}/pods?${LISTED}&includeObject=Object&timeout=20s&pretty=true`],
  [
    "read",
    `${SHOP}/pods?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&timeoutSeconds=5&resourceVersion=1`,
  ],
  ["read", `${SHOP}/services/web?resourceVersion=0&includeObject=Object`],
  ["logs", `${SHOP}/pods/web-1/log?container=web&tailLines=5&limitBytes=9&stream=All&${FOLLOWED}`],
])("what kubectl and other programs of its library ask in mode %s passes: %s", (mode, target) => {
  expect(judge(scope(mode), get(target))).toMatchObject({ allowed: true });
});

test.each<readonly [DebugMode, string, string, Partial<ClientRequest>]>([
  ["logs", `${SHOP}/pods/web-1/log?insecureSkipTLSVerifyBackend=true`, "insecureSkipTLSVerifyBackend", {}],
  ["logs", `${SHOP}/pods/web-1/log?insecureSkipTLSVerifyBackend=false`, "insecureSkipTLSVerifyBackend", {}],
  ["logs", `${SHOP}/pods/web-1/log?insecureskiptlsverifybackend=true`, "insecureskiptlsverifybackend", {}],
  ["logs", `${SHOP}/pods/web-1/log?%69nsecureSkipTLSVerifyBackend=1`, "insecureSkipTLSVerifyBackend", {}],
  ["logs", `${SHOP}/pods/web-1?watch=true`, "watch", {}],
  ["logs", `${SHOP}/pods?shardSelector=x`, "shardSelector", {}],
  ["logs", "/version?verbose=1", "verbose", {}],
  [
    "port-forward",
    `${SHOP}/pods/web-1/portforward?ports=22`,
    "ports",
    { upgrade: "websocket", headers: { "sec-websocket-protocol": "SPDY/3.1+portforward.k8s.io" } },
  ],
  ["logs", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews?as=admin", "as", { method: "POST" }],
])("an option that is not known does not go up, and is named: %s %s", (mode, target, name, more) => {
  expect(judge(scope(mode), get(target, more))).toMatchObject({
    ...{ allowed: false, status: 400, denial: "path" },
    words: `a debug session does not pass on the option ${name}`,
  });
});

test.each([
  ["?watch=true", "600"],
  ["?watch=1&timeoutSeconds=30", "30"],
  ["?watch=yes&timeoutSeconds=9999", "600"],
  ["?watch=true&timeoutSeconds=0", "600"],
  ["?watch=true&timeoutSeconds=-5", "600"],
])("a watch %s lasts %s s at most", (query, seconds) => {
  const verdict = judge(scope("logs"), get(`/api/v1/namespaces/shop/pods${query}`));
  expect(verdict.allowed && verdict.target).toMatch(new RegExp(`timeoutSeconds=${seconds}$`));
  expect(verdict).toMatchObject({ kind: "watch" });
});

test("a selector narrows lists, and names are looked up by it", () => {
  const narrow = scope("exec", { selector: "app in (api,web),tier!=db" });
  const list = judge(narrow, get("/api/v1/namespaces/shop/pods?limit=500&labelSelector=x%3Dy"));
  expect(list.allowed && new URL(list.target, "http://h").searchParams.get("labelSelector")).toBe(
    "x=y,app in (api,web),tier!=db",
  );
  for (const sub of ["", "/log", "/exec"]) {
    const upgrade = sub === "/exec" ? "websocket" : undefined;
    const headers = { "sec-websocket-protocol": "v5.channel.k8s.io" };
    const request = get(`/api/v1/namespaces/shop/pods/web-1${sub}`, { upgrade, headers });
    expect(judge(narrow, request)).toMatchObject({ pod: "web-1" });
  }
  expect(judge(narrow, get("/apis/apps/v1/namespaces/shop/deployments/web"))).toMatchObject({ pod: undefined });
  const open = get("/api/v1/namespaces/shop/pods?labelSelector=x+notin+(a");
  expect(judge(narrow, open)).toMatchObject({ allowed: false, status: 400 });
});

test.each([
  ["true", "watch"],
  ["", "watch"],
  ["no", "watch"],
  ["0.0", "watch"],
  ["00", "watch"],
  ["0", "list"],
  ["false", "list"],
  ["FaLsE", "list"],
  // Go folds by Unicode's table.
  ["fal%C5%BFe", "list"],
  ["FAL%C5%BFE", "list"],
  ["false%0A", "watch"],
])("watch=%s is what the API server makes of it: a %s", (value, verb) => {
  expect(judge(scope("logs"), get(`${SHOP}/pods?watch=${value}`))).toMatchObject({ allowed: true, subject: { verb } });
});
