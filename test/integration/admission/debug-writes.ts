import { DEBUG_SESSION_LABEL, debugAccount, objectName } from "../../../src/crds/group.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { DEBUG_NAMESPACE, sessionObject } from "../debug/debug-world.ts";
import { patch } from "./writes.ts";

// What attackers write about debug sessions, and the objects that they write it about.

export type Who = "tunnel" | "agent" | "operator" | "session" | "oncall";
export const UID = "0badcafe-0000-4000-8000-000000000001";
export const ACCOUNT = debugAccount(UID);
export const OPEN = "dbg_open";
export const PENDING = "dbg_pending";

export const patched = (sessionId: string, body: object, ...more: string[]): readonly string[] =>
  patch("dbg", objectName(sessionId), body, "-n", GRANTS, ...more);
export const status = (sessionId: string, body: object): readonly string[] =>
  patched(sessionId, { status: body }, "--subresource=status");
export const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toISOString();

export function asking(spec: object, metadata: object = {}): object {
  const object = sessionObject("dbg_asked", spec) as { metadata: object };
  return { ...object, metadata: { ...object.metadata, ...metadata } };
}

export function binding(
  role: string,
  subject: { readonly name: string; readonly namespace: string },
  metadata: object = { labels: { [DEBUG_SESSION_LABEL]: UID } },
): object {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: {
      name: "mine",
      namespace: SHOP,
      annotations: { "sallyport.dev/expires-at": "2099-01-01T00:00:00Z" },
      ...metadata,
    },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", ...subject }],
  };
}

export const EXEC = "sallyport-op-debug-exec";
export const MINE = { name: ACCOUNT, namespace: DEBUG_NAMESPACE };

export function account(name: string, metadata: object = {}): object {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: DEBUG_NAMESPACE, ...metadata } };
}
