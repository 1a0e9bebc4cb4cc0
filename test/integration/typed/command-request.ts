import type { ApiCall } from "../../../lab/cluster/api-request.ts";
import type { CommandLine } from "./command-line.ts";
import { kindOf, kindTyped, pathOf, type ServedKind, type Typed } from "./served-kinds.ts";

/** The one request of a command line that decides what comes of it. */
export interface CommandRequest {
  readonly call: ApiCall;
  /** What kubectl says of its object when it comes to pass: `patched`. */
  readonly done: string;
  /** The flag `-o`, or what the command prints by itself. */
  readonly prints: Printed;
  /** It comes to pass also where the object is not there. */
  readonly isMissingFine: boolean;
}

const PRINTED = ["done", "json", "name", "token"] as const;
type Printed = (typeof PRINTED)[number];
const isPrinted = (text: string): text is Printed => PRINTED.some((each) => each === text);

/**
 * Undefined for a line that is not known here, with all of its flags: that takes the real kubectl. What kubectl reads
 * beforehand is left out: an attacker can do without.
 */
export function requestOf(
  { words, flags }: CommandLine,
  stdin: unknown,
  kinds: readonly ServedKind[],
): CommandRequest | undefined {
  const [verb = "", ...rest] = words;
  const form = FORMS[verb === "create" && rest.length > 0 ? `create ${rest[0]}` : verb];
  if (form === undefined || [...flags.keys()].some((flag) => !form.flags.includes(flag) && !COMMON.includes(flag))) {
    return undefined;
  }
  const one = (flag: string): string | undefined => flags.get(flag)?.[0];
  const dryRun = one("dry-run");
  if (dryRun !== undefined && dryRun !== "server") return undefined;
  const call = form.call({ words: rest, flags, one, stdin, kinds, namespace: one("namespace") ?? "default" });
  if (call === undefined) return undefined;
  const { query = {}, ...sent } = call;
  const [path = "", asked] = sent.path.split("?");
  const search = new URLSearchParams(asked);
  for (const [name, value] of Object.entries(query)) search.set(name, value);
  if (dryRun !== undefined && sent.method !== "DELETE") search.set("dryRun", "All");
  const ending = search.size === 0 ? "" : `?${search}`;
  const headers = { ...asUser(flags), ...sent.headers };
  const prints = one("output") ?? (flags.has("raw") ? "json" : (form.prints ?? "done"));
  if (!isPrinted(prints)) return undefined;
  return {
    call: { ...sent, path: `${path}${ending}`, headers },
    done: form.done,
    prints,
    isMissingFine: flags.has("ignore-not-found"),
  };
}

interface Parts {
  /** Behind the verb. */
  readonly words: readonly string[];
  readonly flags: CommandLine["flags"];
  /** The value of a flag. */
  readonly one: (flag: string) => string | undefined;
  readonly stdin: unknown;
  readonly kinds: readonly ServedKind[];
  readonly namespace: string;
}

type Call = ApiCall & { readonly query?: Readonly<Record<string, string>> };

interface Form {
  readonly flags: readonly string[];
  readonly done: string;
  readonly prints?: Printed;
  readonly call: (parts: Parts) => Call | undefined;
}

const COMMON = ["namespace", "dry-run", "output", "as", "as-group", "token"];
const RBAC = "rbac.authorization.k8s.io";
const MERGE = "application/merge-patch+json";
const PATCHES: Readonly<Record<string, string>> = {
  json: "application/json-patch+json",
  merge: MERGE,
  strategic: "application/strategic-merge-patch+json",
};

const FORMS: Readonly<Record<string, Form>> = {
  create: { flags: ["filename", "raw"], done: "created", call: createFromInput },
  "create token": { flags: ["duration", "audience"], done: "created", prints: "token", call: createToken },
  "create serviceaccount": { flags: [], done: "created", call: (parts) => created(parts, "v1", "ServiceAccount", {}) },
  "create rolebinding": { flags: ["clusterrole", "user", "group", "serviceaccount"], done: "created", call: bind },
  "create clusterrolebinding": { flags: ["clusterrole", "user", "group"], done: "created", call: bindAll },
  apply: { flags: ["filename", "server-side", "force-conflicts", "validate"], done: "serverside-applied", call: apply },
  patch: { flags: ["patch", "type", "subresource"], done: "patched", call: patch },
  label: { flags: ["overwrite"], done: "labeled", call: (parts) => mark(parts, "labels", "kubectl-label") },
  annotate: {
    flags: ["overwrite"],
    done: "annotated",
    call: (parts) => mark(parts, "annotations", "kubectl-annotate"),
  },
  scale: { flags: ["replicas"], done: "scaled", call: scale },
  delete: { flags: ["cascade", "wait"], done: "deleted", call: remove },
  get: { flags: ["raw", "ignore-not-found"], done: "", call: look },
};

function createFromInput({ one, stdin, kinds, namespace }: Parts): Call | undefined {
  if (one("filename") !== "-") return undefined;
  const raw = one("raw");
  if (raw !== undefined) return { method: "POST", path: raw, body: stdin };
  const place = placeOf(stdin as Typed, kinds, namespace);
  if (place === undefined) return undefined;
  const query = { fieldManager: "kubectl-create", fieldValidation: "Strict" };
  return { method: "POST", path: place.collection, query, body: stdin };
}

function createToken({ words, one, flags, namespace }: Parts): Call | undefined {
  const [, name, ...more] = words;
  const duration = one("duration");
  const seconds = duration === undefined ? undefined : secondsOf(duration);
  if (name === undefined || more.length > 0 || Number.isNaN(seconds)) return undefined;
  const spec = {
    audiences: flags.get("audience") ?? null,
    ...(seconds !== undefined && { expirationSeconds: seconds }),
  };
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
  return { method: "POST", path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, body };
}

function secondsOf(duration: string): number {
  const [, count = "", unit = ""] = /^(\d+)([hms])$/.exec(duration) ?? [];
  return Number.parseInt(count, 10) * ({ h: 3600, m: 60, s: 1 }[unit] ?? Number.NaN);
}

function created(
  { words: [, name, ...more], kinds, namespace }: Parts,
  apiVersion: string,
  kind: string,
  rest: object,
): Call | undefined {
  const body = { apiVersion, kind, metadata: { name }, ...rest };
  const place = placeOf(body as Typed, kinds, namespace);
  if (name === undefined || more.length > 0 || place === undefined) return undefined;
  const query = { fieldManager: "kubectl-create", fieldValidation: "Strict" };
  return { method: "POST", path: place.collection, query, body };
}

function bind(parts: Parts, kind = "RoleBinding"): Call | undefined {
  const people = (["User", "Group"] as const).flatMap((kind) =>
    (parts.flags.get(kind.toLowerCase()) ?? []).map((name) => ({ apiGroup: RBAC, kind, name })),
  );
  const accounts = (parts.flags.get("serviceaccount") ?? []).map((account) => {
    const [namespace, name] = account.split(":");
    return { kind: "ServiceAccount", name, namespace };
  });
  const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: parts.one("clusterrole") };
  return created(parts, `${RBAC}/v1`, kind, { roleRef, subjects: [...people, ...accounts] });
}

function bindAll(parts: Parts): Call | undefined {
  return bind(parts, "ClusterRoleBinding");
}

function apply({ one, flags, stdin, kinds, namespace }: Parts): Call | undefined {
  const place = placeOf(stdin as Typed, kinds, namespace);
  if (one("filename") !== "-" || !flags.has("server-side") || place?.object === undefined) return undefined;
  const query = {
    fieldManager: "kubectl",
    force: String(flags.has("force-conflicts")),
    fieldValidation: one("validate") === "false" ? "Ignore" : "Strict",
  };
  const contentType = "application/apply-patch+yaml";
  return { method: "PATCH", path: place.object, query, body: stdin, contentType };
}

function patch({ words, one, kinds, namespace }: Parts): Call | undefined {
  const path = objectTyped(words, kinds, namespace);
  const contentType = PATCHES[one("type") ?? "strategic"];
  const body = parsed(one("patch"));
  if (path === undefined || contentType === undefined || body === undefined) return undefined;
  const subresource = one("subresource");
  const query = { fieldManager: "kubectl-patch" };
  return { method: "PATCH", path: `${path}${subresource ? `/${subresource}` : ""}`, query, body, contentType };
}

function mark({ words, kinds, namespace }: Parts, field: string, fieldManager: string): Call | undefined {
  const marks = words.filter((word) => /=|-$/.test(word));
  const path = objectTyped(
    words.filter((word) => !marks.includes(word)),
    kinds,
    namespace,
  );
  if (path === undefined || marks.length === 0) return undefined;
  const entries = marks.map((word): readonly [string, string | null] => {
    if (!word.includes("=")) return [word.slice(0, -1), null];
    const [name = "", ...value] = word.split("=");
    return [name, value.join("=")];
  });
  const body = { metadata: { [field]: Object.fromEntries(entries) } };
  return { method: "PATCH", path, query: { fieldManager }, body, contentType: MERGE };
}

function scale({ words, one, kinds, namespace }: Parts): Call | undefined {
  const path = objectTyped(words, kinds, namespace);
  const replicas = Number(one("replicas"));
  if (path === undefined || !Number.isInteger(replicas)) return undefined;
  return { method: "PATCH", path: `${path}/scale`, body: { spec: { replicas } }, contentType: MERGE };
}

function remove({ words, one, flags, kinds, namespace }: Parts): Call | undefined {
  const path = objectTyped(words, kinds, namespace);
  const cascade = one("cascade") ?? "background";
  if (path === undefined || cascade === "foreground") return undefined;
  const propagationPolicy = cascade === "orphan" ? "Orphan" : "Background";
  return {
    method: "DELETE",
    path,
    body: { propagationPolicy, ...(flags.has("dry-run") && { dryRun: ["All"] }) },
  };
}

function look({ words, one, kinds, namespace }: Parts): Call | undefined {
  const raw = one("raw");
  if (raw !== undefined) return { path: raw };
  const [typed = "", ...more] = words;
  const isList = more.length === 0 && !typed.includes("/");
  const listed = isList && one("output") !== "name" ? kindTyped(kinds, typed) : undefined;
  const path = listed === undefined ? objectTyped(words, kinds, namespace) : pathOf(listed, namespace);
  return path === undefined ? undefined : { path };
}

/** Where an object is made, and where it is when it has a name. */
function placeOf(
  object: Typed,
  kinds: readonly ServedKind[],
  typedNamespace: string,
): { readonly collection: string; readonly object: string | undefined } | undefined {
  const kind = kindOf(kinds, object);
  if (kind === undefined) return undefined;
  const { name, namespace = typedNamespace } = object.metadata ?? {};
  const collection = pathOf(kind, namespace);
  return { collection, object: name === undefined ? undefined : pathOf(kind, namespace, name) };
}

/** The path of `pod web` or `pod/web`, when that is all there is. */
function objectTyped(words: readonly string[], kinds: readonly ServedKind[], namespace: string): string | undefined {
  const [typed = "", name, ...more] = words.length === 1 ? (words[0] ?? "").split("/") : words;
  const kind = kindTyped(kinds, typed);
  return kind === undefined || name === undefined || more.length > 0 ? undefined : pathOf(kind, namespace, name);
}

function asUser(flags: CommandLine["flags"]): Record<string, string | readonly string[]> {
  const [user, groups, token] = ["as", "as-group", "token"].map((flag) => flags.get(flag));
  return {
    ...(user?.[0] !== undefined && { "impersonate-user": user[0] }),
    ...(groups !== undefined && { "impersonate-group": groups }),
    ...(token?.[0] !== undefined && { authorization: `Bearer ${token[0]}` }),
  };
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
