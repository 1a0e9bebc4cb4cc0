import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type {
  ApprovalReport,
  DecisionReport,
  PendingRequest,
} from "../../../src/contract/access-requests/access-relay.ts";
import type { ROUTES } from "../../../src/contract/table.ts";
import type { BodyOf } from "../../../src/contract/wire/route.ts";
import { newId } from "../../../src/platform/kernel/ids.ts";
import { bodyOf } from "../agent/request-body.ts";

export type End = BodyOf<(typeof ROUTES)["commands"]["complete"]>;

export interface Wanted {
  readonly id?: string;
  readonly name: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly accessRequestId?: string;
}

interface Stored extends Wanted {
  readonly id: string;
  state: "PENDING" | "DISPATCHED";
}

/**
 * Serves every route of the contract that an agent uses, over a real socket, with any answer that a test wants; it
 * keeps no rule. It plays a vendor's platform in the hands of an attacker.
 */
export class HostilePlatform {
  readonly managerId = newId("mgr");
  readonly deploymentId = newId("dep");
  readonly ends = new Map<string, End[]>();
  readonly approvals: ApprovalReport[] = [];
  readonly decisions: DecisionReport[] = [];
  #pending: readonly PendingRequest[] = [];
  readonly #commands = new Map<string, Stored>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async listen(): Promise<HostilePlatform> {
    const platform = new HostilePlatform();
    await new Promise<void>((resolve) => platform.#server.listen(0, "127.0.0.1", resolve));
    return platform;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** Shows these requests to the agent as waiting for the customer. */
  list(...requests: readonly PendingRequest[]): void {
    this.#pending = requests;
  }

  /** Hands out a command, also one that was handed out before. @returns its id. */
  send(wanted: Wanted): string {
    const id = wanted.id ?? newId("cmd");
    this.#commands.set(id, { ...wanted, id, state: "PENDING" });
    return id;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await bodyOf(request);
    const path = new URL(request.url ?? "/", this.url).pathname.slice("/v1".length);
    const answer = this.#answer(`${request.method} ${path}`, text === "" ? {} : JSON.parse(text));
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    const unknown = { code: "ROUTE_NOT_FOUND", message: "no such path", retryable: false, internal: false };
    response.end(JSON.stringify(answer ?? unknown));
  }

  // biome-ignore lint/suspicious/noExplicitAny: bodies of our own client.
  #answer(route: string, body: any): unknown {
    const [, command = "", verb = ""] = /^(?:GET|POST) \/commands\/([^/]+)(?:\/(\w+))?$/.exec(route) ?? [];
    if (command !== "") return this.#aboutCommand(command, verb, body);
    const now = new Date().toISOString();
    switch (route) {
      case "GET /whoami":
        return this.#whoami();
      case `POST /managers/${this.managerId}/heartbeat`:
        return { acknowledged: true, timestamp: now };
      case "POST /sync/list":
        return { deployments: [this.#deployment()] };
      case "POST /sync/acquire":
        return { deployments: [], failures: [], leaseExpiresAt: null };
      case "POST /sync/reconcile":
        return { success: true, current: body.state, target: null };
      case "GET /access-requests/pending":
        return { requests: this.#pending, closed: [] };
      case "POST /access-requests/materialized":
        return this.#recorded(body.requestIds);
      case "POST /access-requests/approvals":
        this.approvals.push(...body.approvals);
        return this.#recorded(body.approvals.map(idOf));
      case "POST /access-requests/decisions":
        this.decisions.push(...body.decisions);
        return this.#recorded(body.decisions.map(idOf));
      case "GET /commands":
        return { items: [...this.#commands.values()].map((each) => this.#command(each)), nextCursor: null };
      default:
        // Also the answer of the work feed: then the agent polls.
        return undefined;
    }
  }

  #aboutCommand(id: string, verb: string, body: End): unknown {
    const command = this.#commands.get(id);
    if (command === undefined) return undefined;
    if (verb === "dispatch") {
      command.state = "DISPATCHED";
      return { updated: true };
    }
    if (verb !== "complete") return this.#command(command);
    this.ends.set(id, [...(this.ends.get(id) ?? []), body]);
    this.#commands.delete(id);
    return { updated: true };
  }

  #whoami(): object {
    const { managerId } = this;
    const scope = { type: "manager", managerId };
    const identity = {
      id: newId("apikey"),
      workspaceId: newId("ws"),
      workspaceName: "stolen",
      role: "manager.runtime",
    };
    return { kind: "serviceAccount", ...identity, scope };
  }

  #deployment(): object {
    const { deploymentId: id } = this;
    const releases = { desiredReleaseId: null, currentReleaseId: null };
    const facts = { status: "running", platform: "kubernetes", deploymentModel: "pull", ...releases };
    return { id, name: "shop", projectId: newId("prj"), ...facts, stackState: null };
  }

  #command({ id, name, params, accessRequestId, state }: Stored): object {
    const { deploymentId } = this;
    const target = { resourceId: "operator", resourceType: "daemon" };
    return {
      ...{ id, deploymentId, name, params, state, target },
      ...{ accessRequestId: accessRequestId ?? null, attempt: 1, deadline: null },
    };
  }

  #recorded(requestIds: readonly string[]): object {
    return {
      recorded: requestIds.length,
      results: requestIds.map((requestId) => ({ requestId, outcome: "recorded" })),
    };
  }
}

function idOf({ requestId }: { readonly requestId: string }): string {
  return requestId;
}
