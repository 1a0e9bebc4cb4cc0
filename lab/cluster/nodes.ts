import { sleep, systemClock } from "../../src/base/clock.ts";
import type { ApiAnswer, ApiCall } from "./api-request.ts";
import type { Program } from "./program.ts";

type Request = (call: ApiCall) => Promise<ApiAnswer>;

/** What a controller would make in a new namespace. */
export async function createDefaultAccount(namespace: string, request: Request): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
  const { status, body } = await request({ method: "POST", path, body: account });
  if (status !== 201 && status !== 409)
    throw new Error(`no default ServiceAccount in ${namespace}: ${status} ${JSON.stringify(body)}`);
}

/** Nodes node-1 … node-N that only kwok simulates, each with room for thousands of Pods. */
export async function createNodes(count: number, request: Request): Promise<void> {
  for (let number = 1; number <= count; number += 1) {
    const resources = { cpu: "256", memory: "1Ti", pods: "20000" };
    const { status, body } = await request({
      method: "POST",
      path: "/api/v1/nodes",
      body: {
        apiVersion: "v1",
        kind: "Node",
        metadata: {
          name: `node-${number}`,
          // kwok's stages pick nodes by this label's presence.
          labels: { type: "kwok", "kubernetes.io/hostname": `node-${number}`, "kubernetes.io/os": "linux" },
        },
        status: { allocatable: resources, capacity: resources },
      },
    });
    if (status !== 201 && status !== 409)
      throw new Error(`node-${number} was not created: ${status} ${JSON.stringify(body)}`);
  }
}

/** Waits until kwok has made them Ready. */
export async function nodesReady(count: number, request: Request, kwok: Program, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + 180_000;
  while (performance.now() < deadline) {
    if (!kwok.isRunning) throw new Error(`kwok ended while it was starting:\n${kwok.logTail()}`);
    const { body } = await request({ path: "/api/v1/nodes" });
    if (readyCount(body) >= count) return;
    await sleep(systemClock, 100, signal);
  }
  throw new Error(`kwok's nodes were not ready after 180 s:\n${kwok.logTail()}`);
}

interface NodeList {
  readonly items?: readonly {
    readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

function readyCount(body: unknown): number {
  const { items = [] } = body as NodeList;
  return items.filter(({ status }) =>
    status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True"),
  ).length;
}
