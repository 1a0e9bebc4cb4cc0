import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import type { ClientHttp2Session } from "node:http2";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { systemClock, systemRandom } from "../../../src/base/clock.ts";
import { DEBUG_NAMESPACE, DEBUG_SESSION_LABEL, debugAccount } from "../../../src/crds/group.ts";
import { type DebugSession, debugSessions } from "../../../src/crds/kinds/debug-session.ts";
import { connectInner } from "../../../src/debug-link/inner-client.ts";
import { serveRelay } from "../../../src/debug-link/relay-loop.ts";
import { newSessionKey, type SessionKey } from "../../../src/debug-link/session-key.ts";
import type { Client } from "../../../src/kube/client/client.ts";
import { ours } from "../../world/objects.ts";
import { People, SHOP } from "../../world/people.ts";
import { mib } from "../agent/options.ts";
import { usageOf } from "../agent/usage.ts";
import type { Row } from "../table.ts";
import type { DebugOptions } from "./options.ts";
import { startPlainRelay } from "./plain-relay.ts";
import { type DebugCluster, DIRECT_ACCOUNT, startTunnel } from "./world.ts";

const STREAMS = 3;
const GOAL_MIB = 250;
const REST_MS = 10_000;

/** Many sessions in one tunnel, each with watches on which nothing comes. The relay is plain, and the objects are an admin's. */
export async function idle(found: DebugCluster, { sessions, say }: DebugOptions, signal: AbortSignal): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const platformUrl = await startPlainRelay(stack);
  const keyFile = join(found.cluster.dir, "idle-key");
  await writeFile(keyFile, "sp_m_000000000000_0000000000000000000000000000000000000000\n", { mode: 0o600 });
  const tunnel = await startTunnel(stack, found, {
    SALLYPORT_PLATFORM_URL: platformUrl,
    SALLYPORT_RUNTIME_KEY_FILE: keyFile,
    SESSIONS: String(sessions),
  });
  await tunnel.whenReady(signal);
  await pause(REST_MS / 2, undefined, { signal });
  const before = usageOf(tunnel.pid);
  say(`debug: ${sessions} sessions with ${STREAMS} idle streams each, in one tunnel`);
  const client = await stack.use(new People(found.cluster)).admin();
  const over = new AbortController();
  stack.defer(async () => over.abort(new Error("measured")));
  for (let index = 0; index < sessions; index += 1) {
    const key = newSessionKey("engineer", new Date());
    const object = await openObject(found, client, index, key, signal);
    const inner = await attached(client, object, key, platformUrl, over.signal);
    stack.defer(async () => inner.destroy());
    for (let stream = 0; stream < STREAMS; stream += 1) await watching(inner);
  }
  await pause(REST_MS, undefined, { signal });
  const [after, startedMs] = [usageOf(tunnel.pid), performance.now()];
  await pause(REST_MS, undefined, { signal });
  const end = usageOf(tunnel.pid);
  const core = (end.cpuMs - after.cpuMs) / (performance.now() - startedMs);
  return [
    {
      what: `memory of a tunnel with ${sessions} sessions × ${STREAMS} idle streams`,
      measured: `${mib(end.rssKib)} (${mib(before.rssKib)} without a session, peak ${mib(end.peakKib)}); ${(core * 100).toFixed(1)} % of a core`,
      goal: `at most ${GOAL_MIB} MiB`,
      reached: end.rssKib <= GOAL_MIB * 1_024,
      figures: { before, after, end, core },
    },
  ];
}

/** What agent and operator make of a session. */
async function openObject(
  { cluster }: DebugCluster,
  client: Client,
  index: number,
  key: SessionKey,
  signal: AbortSignal,
): Promise<DebugSession> {
  const sessionId = `dbg_${String(index).padStart(28, "0")}`;
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, "Z");
  const spec = {
    ...{ sessionId, deploymentId: `dep_${"0".repeat(28)}`, mode: "logs" as const, namespace: SHOP, expiresAt },
    ...{ owner: "jo@vendor.example", reason: "500s since 14:02", clientKey: key.pin },
  };
  const made = await client.create<DebugSession>(debugSessions, ours("DebugSession", sessionId, spec), signal);
  const { metadata } = made;
  const account = debugAccount(made.metadata.uid);
  const labels = { [DEBUG_SESSION_LABEL]: made.metadata.uid };
  const rbac = "rbac.authorization.k8s.io";
  // The shipped role is lent by the operator alone.
  const roleRef = { apiGroup: rbac, kind: "Role", name: DIRECT_ACCOUNT };
  const subjects = [{ kind: "ServiceAccount", name: account, namespace: DEBUG_NAMESPACE }];
  const lent = { name: account, namespace: SHOP, labels };
  await cluster.apply([
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: account, namespace: DEBUG_NAMESPACE, labels } },
    { apiVersion: `${rbac}/v1`, kind: "RoleBinding", metadata: lent, roleRef, subjects },
  ]);
  const openedAt = made.metadata.creationTimestamp;
  const body = { status: { state: "Open", account, openedAt, until: expiresAt } };
  return client.patch<DebugSession>(
    debugSessions,
    metadata,
    { type: "merge", body },
    { subresource: "status" },
    signal,
  );
}

async function attached(
  client: Client,
  { metadata }: DebugSession,
  key: SessionKey,
  platformUrl: string,
  signal: AbortSignal,
): Promise<ClientHttp2Session> {
  const { promise, resolve, reject } = Promise.withResolvers<ClientHttp2Session>();
  const id = metadata.name.replace("-", "_");
  const url = `${platformUrl.replace("http", "ws")}/v1/debug-sessions/${id}/attach`;
  serveRelay(
    {
      ...{ clock: systemClock, random: systemRandom, side: "attach", platformUrl },
      ticket: async () => ({ url, ticket: "t".repeat(43) }),
      onEpoch: ({ stream }) => {
        const meet = async (): Promise<ClientHttp2Session> => {
          const object = await client.get<DebugSession>(debugSessions, metadata, signal);
          const peerPin = object?.status?.tunnel?.key ?? "";
          return connectInner({ stream, key, peerPin, clock: systemClock }, signal);
        };
        meet().then(resolve, reject);
      },
    },
    signal,
  ).catch(() => undefined);
  return promise;
}

/** Asks for a watch, and waits for its first event. */
async function watching(session: ClientHttp2Session): Promise<void> {
  const path = `/api/v1/namespaces/${SHOP}/pods?watch=true&allowWatchBookmarks=true`;
  const stream = session.request({ ":method": "GET", ":path": path, ":scheme": "https", ":authority": "kubernetes" });
  stream.on("error", () => undefined);
  const [headers] = await once(stream, "response");
  if (headers[":status"] !== 200) throw new Error(`a watch was answered with ${headers[":status"]}`);
  stream.resume();
}
