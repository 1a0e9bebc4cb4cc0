import { isLabelSelector } from "../../base/label-selector.ts";
import type { DebugMode } from "../../contract/debug-sessions/debug-sessions.ts";
import type { Denial, StreamKind } from "../kernel/metrics.ts";
import { type ClientHeaders, headersUp, impersonates } from "./headers.ts";
import { isDiscovery, isSelfReview, modeAllows } from "./mode-table.ts";
import { unknownQueryName } from "./query-names.ts";
import { isTrue, type Subject, subjectOf } from "./subject.ts";
import { isTooLong, parseTarget, queryValue, type Target, toTarget, withValue } from "./target.ts";

/** What the session lets through, and what is known of it now. */
export interface Scope {
  readonly mode: DebugMode;
  readonly namespace: string;
  /** Label selector of the only pods that it reaches. */
  readonly selector?: string | undefined;
  /** What an exec shows must be recorded. */
  readonly recordingRequired: boolean;
  /** Until the end of the session. */
  readonly leftSeconds: number;
}

export interface ClientRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: ClientHeaders;
  /** Lower case: `websocket`, `spdy/3.1`. */
  readonly upgrade?: string | undefined;
}

export interface Allowed {
  readonly allowed: true;
  readonly kind: StreamKind;
  readonly method: "GET" | "POST";
  /** What goes up. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for discovery. */
  readonly subject: Subject | undefined;
  /** This pod's labels must match the session's selector. */
  readonly pod: string | undefined;
  /** Whether it has a body, one of kubectl's review objects. */
  readonly hasBody: boolean;
}

export interface Denied {
  readonly allowed: false;
  readonly status: 400 | 403 | 405 | 414;
  readonly denial: Denial;
  /** For the engineer. */
  readonly words: string;
  readonly subject: Subject | undefined;
}

export type Verdict = Allowed | Denied;

const SPDY = "spdy/3.1";
/** What the tunnel can read as it passes. In the older port forwarding over WebSocket the ports stand elsewhere. */
const WEBSOCKET_PROTOCOLS = {
  exec: /^(v[2-5]\.)?channel\.k8s\.io$/,
  portforward: /^SPDY\/3\.1\+portforward\.k8s\.io$/,
};
const UPGRADES = ["websocket", SPDY];

/** Pure: whether a request may go up, and as what. Reads the request once; what goes up is what was judged. */
export function judge(scope: Scope, request: ClientRequest): Verdict {
  const denied = (status: Denied["status"], denial: Denial, words: string, subject?: Subject): Denied => ({
    ...{ allowed: false, status, denial, words, subject },
  });
  const { method, headers, upgrade } = request;
  if (isTooLong(request.target)) {
    return denied(414, "too-long", "the request is longer than a debug session passes on: 16384 characters");
  }
  const target = parseTarget(request.target);
  if (target === undefined || toTarget(target) !== request.target) {
    return denied(400, "path", `a debug session does not pass on ${printed(request.target)}`);
  }
  if (impersonates(headers)) {
    return denied(
      403,
      "impersonation",
      "impersonation (--as) is not possible: a debug session acts as its own account",
    );
  }
  if (method !== "GET" && method !== "POST") {
    return denied(405, "method", `a debug session changes nothing: no ${short(method)}`);
  }
  const up = headersUp(headers, upgrade !== undefined);
  if (up === undefined) return denied(400, "header", "a header is not one that a debug session passes on");
  const passed = { allowed: true, method, headers: up, pod: undefined, hasBody: false } as const;
  const unknownOf = (of: Subject | undefined): Denied | undefined => {
    const name = unknownQueryName(target, of);
    const words = `a debug session does not pass on the option ${printed(short(name ?? ""))}`;
    return name === undefined ? undefined : denied(400, "path", words, of);
  };
  if (method === "GET" && upgrade === undefined && isDiscovery(target.segments)) {
    return unknownOf(undefined) ?? { ...passed, kind: "request", target: request.target, subject: undefined };
  }
  const subject = subjectOf(method, target);
  if (subject === undefined)
    return denied(403, "path", `a debug session passes on nothing at ${printed(request.target)}`);
  if (upgrade === undefined && isSelfReview(subject)) {
    return unknownOf(subject) ?? { ...passed, kind: "request", target: request.target, subject, hasBody: true };
  }
  if (scope.selector !== undefined && !isLabelSelector(queryValue(target, "labelSelector") ?? "a")) {
    return denied(400, "path", "the label selector is not one that can be joined with the session's", subject);
  }
  const refusal = refusalOf(scope, subject, upgrade, up);
  if (refusal !== undefined) return denied(refusal.status, refusal.denial, refusal.words, subject);
  const unknown = unknownOf(subject);
  if (unknown !== undefined) return unknown;
  const narrowed = narrow(scope, subject, target);
  const pod = scope.selector !== undefined && isPods(subject) ? subject.name : undefined;
  return { ...passed, kind: kindOf(subject, target), target: toTarget(narrowed), subject, pod };
}

type Refusal = Pick<Denied, "status" | "denial" | "words">;

function refusalOf(
  scope: Scope,
  subject: Subject,
  upgrade: string | undefined,
  headers: Readonly<Record<string, string>>,
): Refusal | undefined {
  const { mode, namespace } = scope;
  const no = (denial: Denial, words: string): Refusal => ({ status: 403, denial, words });
  if (!modeAllows(mode, subject))
    return no("resource", `the mode ${mode} of this session does not allow ${told(subject)}`);
  if (subject.namespace !== namespace) {
    const where = subject.namespace === undefined ? "all namespaces" : `namespace ${short(subject.namespace)}`;
    return no("namespace", `this session is open for namespace ${namespace}, not for ${where}`);
  }
  const isUpgraded = subject.subresource === "exec" || subject.subresource === "portforward";
  if (isUpgraded !== (upgrade !== undefined)) {
    const words = isUpgraded ? "needs an upgrade of the connection" : "takes no upgrade of the connection";
    return { status: 400, denial: "method", words: `${told(subject)} ${words}` };
  }
  if (upgrade === undefined) return undefined;
  if (!UPGRADES.includes(upgrade) || (upgrade === "websocket") !== (subject.verb === "get")) {
    return { status: 400, denial: "method", words: "a debug session upgrades to WebSocket or SPDY/3.1 only" };
  }
  const unfit =
    upgrade === "websocket" &&
    !(headers["sec-websocket-protocol"] ?? "")
      .split(",")
      .every((each) => WEBSOCKET_PROTOCOLS[subject.subresource === "exec" ? "exec" : "portforward"].test(each.trim()));
  if (unfit)
    return no("recording", `a debug session cannot read this protocol of ${told(subject)}; use a current kubectl`);
  // With or without a terminal: `exec -i … sh` without one would be a shell that leaves no recording.
  if (upgrade === SPDY && subject.subresource === "exec" && scope.recordingRequired) {
    const hint = "kubectl 1.31 or newer, or KUBECTL_REMOTE_COMMAND_WEBSOCKETS=true";
    return no("recording", `an exec over SPDY cannot be recorded, and the customer requires it; use ${hint}`);
  }
  return undefined;
}

function narrow({ selector, leftSeconds }: Scope, subject: Subject, target: Target): Target {
  let narrowed = target;
  if (selector !== undefined && isPods(subject) && subject.name === undefined) {
    const asked = queryValue(target, "labelSelector");
    narrowed = withValue(narrowed, "labelSelector", asked ? `${asked},${selector}` : selector);
  }
  if (subject.verb !== "watch") return narrowed;
  const asked = Number(queryValue(target, "timeoutSeconds") ?? Number.NaN);
  const left = Math.max(1, Math.floor(leftSeconds));
  const seconds = Number.isInteger(asked) && asked > 0 ? Math.min(asked, left) : left;
  return withValue(narrowed, "timeoutSeconds", String(seconds));
}

/** Pods, and what is measured of them under the same names and labels. */
function isPods({ group, resource }: Subject): boolean {
  return resource === "pods" && (group === "" || group === "metrics.k8s.io");
}

function kindOf({ verb, subresource }: Subject, target: Target): StreamKind {
  if (subresource === "exec") return "exec";
  if (subresource === "portforward") return "port-forward";
  if (subresource === "log" && isTrue(queryValue(target, "follow"))) return "log";
  return verb === "watch" ? "watch" : "request";
}

function told({ verb, resource, subresource }: Subject): string {
  return `${verb} of ${short(resource)}${subresource === undefined ? "" : `/${short(subresource)}`}`;
}

/** What an engineer typed, back to them: nothing that a terminal would obey. */
export function printed(target: string): string {
  return target.slice(0, 200).replaceAll(/[^\x21-\x7e]/g, "?");
}

function short(text: string): string {
  return text.slice(0, 64);
}
