import type { Cluster } from "../../../lab/cluster/cluster.ts";
import { type DebugSession, type DebugSessionSpec, debugSessions } from "../../../src/crds/kinds/debug-session.ts";
import { openDebugSessions, openNamespaceToDebug } from "../../../src/crds/manifests/installation.ts";
import { ours } from "../../world/objects.ts";
import { bound, GRANTS, SHOP } from "../../world/people.ts";
import { eventually, signal } from "../../world/wait.ts";
import { DEPLOYMENT_ID, OperatorWorld } from "../operator/operator-world.ts";

export const DEBUG_NAMESPACE = "sallyport-debug";
export const ONCALL = "olga";
export const CLIENT_KEY = "k".repeat(43);

/** An installation with debug sessions switched on, and the namespace shop opened to them. */
export async function debugWorld(cluster: Cluster): Promise<OperatorWorld> {
  const world = await OperatorWorld.create(cluster);
  await openToDebug(cluster);
  return world;
}

export function openToDebug(cluster: Cluster): Promise<void> {
  return cluster.apply([
    ...openDebugSessions(),
    ...openNamespaceToDebug(SHOP),
    bound("oncall", GRANTS, "sallyport-oncall", ONCALL),
  ]);
}

export function sessionObject(sessionId: string, spec: Partial<DebugSessionSpec> = {}): ReturnType<typeof ours> {
  return ours("DebugSession", sessionId, {
    ...{ sessionId, deploymentId: DEPLOYMENT_ID, mode: "logs", namespace: SHOP },
    ...{ owner: "jo@vendor.example", reason: "500s since 14:02", clientKey: CLIENT_KEY },
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    ...spec,
  });
}

/** Asks for a session, as the agent. */
export function askSession(world: OperatorWorld, spec: Partial<DebugSessionSpec> = {}): Promise<DebugSession> {
  return world.agent.create<DebugSession>(
    debugSessions,
    sessionObject(spec.sessionId ?? world.id("dbg"), spec),
    signal(),
  );
}

/** Waits until `until` is true for the session. */
export function session(
  world: OperatorWorld,
  { metadata }: DebugSession,
  until: (session: DebugSession) => boolean,
): Promise<DebugSession> {
  const key = { namespace: GRANTS, name: metadata.name };
  return eventually(() => world.admin.get<DebugSession>(debugSessions, key, signal()), until);
}

/** Writes a status, as an admin in the operator's place. */
export async function setStatus(world: OperatorWorld, { metadata }: DebugSession, status: object): Promise<void> {
  const key = { namespace: GRANTS, name: metadata.name };
  await world.admin.patch(debugSessions, key, { type: "merge", body: { status } }, { subresource: "status" }, signal());
}
