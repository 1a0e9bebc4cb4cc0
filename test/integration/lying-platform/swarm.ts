import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ROUTES } from "../../../src/contract/table.ts";
import type { BodyOf } from "../../../src/contract/wire/route.ts";
import { planHash } from "../../../src/crds/plan.ts";
import { newId } from "../../../src/platform/kernel/ids.ts";
import { bodyOf } from "../agent/request-body.ts";

export type Report = BodyOf<(typeof ROUTES)["sync"]["reconcile"]>;
export type End = BodyOf<(typeof ROUTES)["commands"]["complete"]>;

/**
 * A platform in the hands of an attacker that lists the deployments that a test names. For each it has a request to
 * scale the workload and a command that reads the namespaces, and it records every report.
 */
export class Swarm {
  readonly managerId = newId("mgr");
  readonly reports: Report[] = [];
  readonly dispatched: string[] = [];
  readonly ends = new Map<string, End>();
  readonly materialized: string[] = [];
  readonly leased: string[] = [];
  /** How often the agent has read the list. */
  lists = 0;
  #listed: readonly string[] = [];
  readonly #namespaces: readonly string[];
  readonly #commands = new Map<string, readonly { readonly id: string; readonly namespace: string }[]>();
  readonly #requests = new Map<string, string>();
  readonly #server: Server;

  private constructor(namespaces: readonly string[]) {
    this.#namespaces = namespaces;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** @param namespaces that its commands name */
  static async listen(namespaces: readonly string[]): Promise<Swarm> {
    const swarm = new Swarm(namespaces);
    await new Promise<void>((resolve) => swarm.#server.listen(0, "127.0.0.1", resolve));
    return swarm;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  list(...ids: readonly string[]): void {
    this.#listed = ids;
  }

  /** Its commands by namespace: made at the first question, and again when they have ended. */
  commandOf(deploymentId: string, namespace: string): string {
    return this.#commandsOf(deploymentId).find((each) => each.namespace === namespace)?.id ?? "";
  }

  requestOf(deploymentId: string): string {
    const id = this.#requests.get(deploymentId) ?? newId("ar");
    this.#requests.set(deploymentId, id);
    return id;
  }

  /** Makes new commands and another request, as if it had never asked. */
  askAgain(deploymentId: string): void {
    this.#commands.delete(deploymentId);
    this.#requests.delete(deploymentId);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await bodyOf(request);
    const { pathname, searchParams } = new URL(request.url ?? "/", this.url);
    const route = `${request.method} ${pathname.slice("/v1".length)}`;
    const answer = this.#answer(route, searchParams.get("deploymentId") ?? "", text === "" ? {} : JSON.parse(text));
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    const unknown = { code: "ROUTE_NOT_FOUND", message: "no such path", retryable: false, internal: false };
    response.end(JSON.stringify(answer ?? unknown));
  }

  // biome-ignore lint/suspicious/noExplicitAny: bodies of our own client.
  #answer(route: string, deploymentId: string, body: any): unknown {
    const [, command = "", verb = ""] = /^POST \/commands\/([^/]+)\/(\w+)$/.exec(route) ?? [];
    if (command !== "") {
      if (verb === "dispatch") this.dispatched.push(command);
      else this.ends.set(command, body);
      return { updated: true };
    }
    switch (route) {
      case "GET /whoami":
        return this.#whoami();
      case `POST /managers/${this.managerId}/heartbeat`:
        return { acknowledged: true, timestamp: new Date().toISOString() };
      case "POST /sync/list":
        this.lists += 1;
        return { deployments: this.#listed.map(deployment) };
      case "POST /sync/acquire":
        this.leased.push(...body.deploymentIds);
        return { deployments: [], failures: [], leaseExpiresAt: null };
      case "POST /sync/reconcile":
        this.reports.push(body);
        return { success: true, current: body.state, target: null };
      case "GET /access-requests/pending":
        return { requests: [this.#request(deploymentId)], closed: [] };
      case "POST /access-requests/materialized":
        this.materialized.push(...body.requestIds);
        return recorded(body.requestIds);
      case "POST /access-requests/decisions":
        return recorded(body.decisions.map((each: { requestId: string }) => each.requestId));
      case "GET /commands":
        return { items: this.#open(deploymentId), nextCursor: null };
      default:
        // Also the answer of the work feed: then the agent polls.
        return undefined;
    }
  }

  #commandsOf(deploymentId: string) {
    const known = this.#commands.get(deploymentId);
    if (known !== undefined) return known;
    const made = this.#namespaces.map((namespace) => ({ id: newId("cmd"), namespace }));
    this.#commands.set(deploymentId, made);
    return made;
  }

  #open(deploymentId: string): readonly object[] {
    const open = this.#commandsOf(deploymentId).filter(({ id }) => !this.ends.has(id));
    return open.map(({ id, namespace }) => ({
      ...{ id, deploymentId, name: "kubernetes/get-pods", params: { namespace } },
      ...{ state: this.dispatched.includes(id) ? "DISPATCHED" : "PENDING", attempt: 1, deadline: null },
      ...{ target: { resourceId: "operator", resourceType: "daemon" }, accessRequestId: null },
    }));
  }

  #request(deploymentId: string): object {
    const id = this.requestOf(deploymentId);
    const params = { namespace: this.#namespaces[0], kind: "deployment", name: "web", replicas: 2 };
    const commands = [{ command: "kubernetes/scale", summary: "to two", params }];
    return {
      ...{ id, commands, risk: "mutating", maxMinutes: 60, title: "to two", reason: null, debug: false },
      planHash: planHash({ requestId: id, deploymentId, risk: "mutating", commands }),
      requestedBy: "mallory",
      decideBefore: new Date(Date.now() + 3_600_000).toISOString(),
      createdAt: new Date().toISOString(),
    };
  }

  #whoami(): object {
    const scope = { type: "manager", managerId: this.managerId };
    const workspace = { workspaceId: newId("ws"), workspaceName: "stolen" };
    return { kind: "serviceAccount", id: newId("apikey"), ...workspace, role: "manager.runtime", scope };
  }
}

/** Whether a report of a deployment says only that it waits, and names nothing. */
export function tellsNothing({ state, capabilities, resourceHeartbeats, observedInventoryBatches }: Report): boolean {
  const lists = [resourceHeartbeats ?? [], observedInventoryBatches ?? []];
  return (
    state.environmentInfo === undefined &&
    lists.every((list) => list.length === 0) &&
    (capabilities ?? []).every((each) => each.state === "denied")
  );
}

function deployment(id: string): object {
  const releases = { desiredReleaseId: null, currentReleaseId: null };
  const facts = { status: "running", platform: "kubernetes", deploymentModel: "pull", ...releases };
  return { id, name: "shop", projectId: newId("prj"), ...facts, stackState: null };
}

function recorded(requestIds: readonly string[]): object {
  return {
    recorded: requestIds.length,
    results: requestIds.map((requestId) => ({ requestId, outcome: "recorded" })),
  };
}
