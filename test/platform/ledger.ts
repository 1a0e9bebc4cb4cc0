import { type Client, createClient } from "../../src/api-client/client.ts";
import { beat, type SampleObjects } from "./sample-objects.ts";

/** One write that the platform has acknowledged, and how to check it. */
interface Entry {
  readonly what: string;
  /** @throws Error when the write is missing or incomplete. */
  check(signal: AbortSignal): Promise<void>;
}

/** A write with an Idempotency-Key, and its answer if one came before the end. */
interface Keyed {
  readonly name: string;
  readonly idempotencyKey: string;
  readonly answered: string | undefined;
}

/**
 * Many clients that write until a signal stops them, and remember what the platform acknowledged. They send nothing
 * twice, so that each object is the result of one call.
 */
export class Ledger {
  readonly entries: Entry[] = [];
  readonly keyed: Keyed[] = [];
  /** The feed's cursor when the load began, and the work that was raised since. */
  readonly raised: { readonly topic: string; readonly deploymentId: string }[] = [];
  /** Manager versions: the last acknowledged one, and those that were sent without an answer yet. */
  #acknowledgedVersion: string | null;
  readonly #sentVersions = new Set<string>();
  readonly #admin: Client;
  readonly #runtime: Client;
  readonly #made: SampleObjects;
  readonly #url: string;
  #count = 0;

  /**
   * @param version the manager's when the load begins: the load may end before the platform acknowledges another one
   */
  constructor(
    url: string,
    made: SampleObjects,
    clients: { readonly admin: Client; readonly runtime: Client },
    version: string | null,
  ) {
    this.#acknowledgedVersion = version;
    this.#url = url;
    this.#made = made;
    this.#admin = clients.admin;
    this.#runtime = clients.runtime;
  }

  /** @param random whole numbers below a bound */
  async load(workers: number, prefix: string, random: (bound: number) => number, signal: AbortSignal): Promise<void> {
    const writes = [
      () => this.#group(`${prefix}-g${this.#next()}`),
      () => this.#deployment(`${prefix}-d${this.#next()}`),
      () => this.#request(`${prefix}-r${this.#next()}`),
      () => this.#command(),
      () => this.#heartbeat(`${prefix}-${this.#next()}`),
      () => this.#key(),
      () => this.#session(),
    ];
    const worker = async (): Promise<void> => {
      while (!signal.aborted) {
        try {
          await writes[random(writes.length)]?.();
        } catch {
          // A write without an answer is not promised. If calls fail for another reason, the count shows it.
          if (!signal.aborted) await new Promise((resolve) => setImmediate(resolve));
        }
      }
    };
    await Promise.all(Array.from({ length: workers }, worker));
  }

  /** Versions that the manager may have now. */
  get versions(): ReadonlySet<string | null> {
    return new Set([this.#acknowledgedVersion, ...this.#sentVersions]);
  }

  #next(): number {
    this.#count += 1;
    return this.#count;
  }

  async #group(name: string): Promise<void> {
    const idempotencyKey = `key-${name}`;
    const index = this.keyed.push({ name, idempotencyKey, answered: undefined }) - 1;
    const body = { name, project: this.#made.project };
    const { id } = await this.#admin.deploymentGroups.create({ body, idempotencyKey }, soon());
    this.keyed[index] = { name, idempotencyKey, answered: id };
    this.#acknowledged(`group ${id}`, async (signal) => {
      same((await this.#admin.deploymentGroups.get({ params: { id } }, signal)).name, name);
    });
  }

  async #deployment(name: string): Promise<void> {
    const { project, group: deploymentGroupId, manager: managerId } = this.#made;
    const body = { name, platform: "kubernetes", project, deploymentGroupId, managerId } as const;
    const { deployment } = await this.#admin.deployments.create({ body }, soon());
    this.raised.push({ topic: "deployments", deploymentId: deployment.id });
    this.#acknowledged(`deployment ${deployment.id}`, async (signal) => {
      same((await this.#admin.deployments.get({ params: { id: deployment.id } }, signal)).name, name);
      const { items } = await this.#admin.events.list({ query: { deploymentId: deployment.id } }, signal);
      same(items.filter(({ data }) => data.type === "DeploymentCreated").length, 1);
    });
  }

  async #request(title: string): Promise<void> {
    const commands = [{ command: "kubernetes/get-pods", summary: "look", params: { namespace: "shop" } }];
    const deploymentId = this.#made.deployment;
    const body = { deploymentId, remediationPlanId: "plan", title, commands };
    const { id, planHash } = await this.#admin.accessRequests.create({ body }, soon());
    await this.#admin.accessRequests.queue({ params: { id } }, soon());
    this.raised.push({ topic: "access-requests", deploymentId });
    this.#acknowledged(`access request ${id}`, async (signal) => {
      const found = await this.#admin.accessRequests.get({ params: { id } }, signal);
      same(`${found.title} ${found.status} ${found.planHash}`, `${title} queued ${planHash}`);
    });
  }

  async #command(): Promise<void> {
    const { project, deployment: deploymentId } = this.#made;
    const body = { deploymentId, plugin: "kubernetes", operation: "get-pods", params: { namespace: "shop" } };
    const { commandId: id = "" } = await this.#admin.operations.invoke({ query: { project }, body }, soon());
    this.raised.push({ topic: "commands", deploymentId });
    const { updated } = await this.#runtime.commands.dispatch(
      { params: { id }, body: { dispatchedAt: new Date().toISOString() } },
      soon(),
    );
    same(updated, true);
    this.#acknowledged(`command ${id}`, async (signal) => {
      same((await this.#admin.commands.get({ params: { id } }, signal)).state, "DISPATCHED");
    });
  }

  async #heartbeat(version: string): Promise<void> {
    this.#sentVersions.add(version);
    await beat(this.#runtime, this.#made.manager, soon(), version);
    // Writes that were sent earlier and have no answer yet may still be applied after it.
    this.#acknowledgedVersion = version;
  }

  async #key(): Promise<void> {
    const scope = { type: "workspace", role: "workspace.viewer" } as const;
    const { apiKey, keyInfo } = await this.#admin.apiKeys.create({ body: { description: null, scope } }, soon());
    this.#acknowledged(`key ${keyInfo.id}`, async (signal) => {
      const client = createClient({ baseUrl: this.#url, credential: apiKey });
      try {
        same(((await client.whoami.get({}, signal)) as { id: string }).id, keyInfo.id);
      } finally {
        await client.close();
      }
    });
  }

  async #session(): Promise<void> {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const body = { deploymentId: this.#made.deployment, expiresAt, state: "running" } as const;
    const { id } = await this.#runtime.debugSessions.create({ body }, soon());
    this.#acknowledged(`debug session ${id}`, async (signal) => {
      same((await this.#admin.debugSessions.get({ params: { id } }, signal)).state, "running");
    });
  }

  #acknowledged(what: string, check: Entry["check"]): void {
    this.entries.push({ what, check });
  }
}

/** When the platform dies, a call ends with its socket; this limit is for every other case. */
function soon(): AbortSignal {
  return AbortSignal.timeout(60_000);
}

function same(found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`found ${String(found)} where ${String(expected)} was acknowledged`);
}
