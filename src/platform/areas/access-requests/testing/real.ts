import { createSecretKey } from "node:crypto";
import type { DecisionReport, ReportResult } from "../../../../contract/access-requests/access-relay.ts";
import type { AccessRequest, AccessRequestStatus } from "../../../../contract/access-requests/access-requests.ts";
import type { TerminalCommandState } from "../../../../contract/operations/commands.ts";
import { BUDGET_SIZES, Budgets } from "../../../kernel/budgets/budgets.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { inTransaction } from "../../../kernel/call/transaction.ts";
import { PlatformError } from "../../../kernel/errors.ts";
import type { Principal } from "../../../kernel/tenancy/principal.ts";
import type { World } from "../../../testing/harness.ts";
import { complete, dispatch } from "../../commands/service.ts";
import { HOOKS } from "../../hooks.ts";
import type { Site } from "../../operations/testing/site.ts";
import { create } from "../create.ts";
import { queue, recordOf, reject, requireRequest } from "../gate.ts";
import { sweepLapsed } from "../lifecycle.ts";
import { approvals, decisions, materialized, pending } from "../relay.ts";
import { listRequests } from "../store.ts";
import { CLIENT_KEY } from "./requests.ts";

type Model = { readonly nowMs: number };

/** The real thing: services in transactions, with a clock of our own. */
export class Real {
  readonly topics: string[] = [];
  readonly seen: Set<string>;
  readonly #world: World;
  readonly #deploymentId: string;
  readonly #people: Principal;
  readonly #manager: Principal;

  constructor(world: World, seen: Set<string>, { deploymentId, workspace, managerId }: Site) {
    const workspaceId = workspace.id;
    this.seen = seen;
    const key = {
      kind: "serviceAccount",
      workspaceId,
      workspaceName: "w",
      expiresAt: null,
      system: false,
      setupFor: null,
    } as const;
    this.#world = world;
    this.#deploymentId = deploymentId;
    this.#people = { ...key, id: "apikey_1", role: "workspace.member", scope: { type: "workspace" } };
    this.#manager = { ...key, id: "apikey_2", role: "manager.runtime", scope: { type: "manager", managerId } };
  }

  #in<T>(model: Model, principal: Principal, work: (call: Call<never>) => Promise<T>): Promise<T> {
    const options = { readOnly: false, signal: new AbortController().signal, onRetry: () => undefined };
    return inTransaction(this.#world.platform.db, options, (db) =>
      work({
        db,
        now: new Date(model.nowMs),
        principal,
        emit: async () => undefined,
        raise: async (topic: string) => void this.topics.push(topic),
        hooks: HOOKS,
        budgets: new Budgets(BUDGET_SIZES, () => undefined),
      } as unknown as Call<never>),
    );
  }

  create(model: Model, plan: { commands: string[]; debug: boolean; maxMinutes: number; decideWithinMinutes: number }) {
    const { commands, ...rest } = plan;
    const body = {
      ...rest,
      deploymentId: this.#deploymentId,
      remediationPlanId: "plan",
      title: "t",
      commands: commands.map((command) => ({ command, summary: "s", params: paramsOf(command) })),
    };
    return this.#in(model, this.#people, (call) => create({ ...call, body }));
  }

  async move(model: Model, id: string, move: "queue" | "reject"): Promise<boolean> {
    try {
      await this.#in(model, this.#people, (call) => (move === "queue" ? queue(call, id) : reject(call, id, undefined)));
      return true;
    } catch (error) {
      if (error instanceof PlatformError && error.code === "INVALID_STATE_TRANSITION") return false;
      throw error;
    }
  }

  read(model: Model, id: string): Promise<AccessRequest> {
    return this.#in(model, this.#people, async (call) => recordOf(call, await requireRequest(call, id)));
  }

  /** Ids that the list shows under a status: the same rules, said in SQL. */
  async withStatus(model: Model, status: AccessRequestStatus): Promise<readonly string[]> {
    const filter = {
      projectId: undefined,
      deploymentId: this.#deploymentId,
      statuses: [status],
      remediationPlanId: undefined,
    };
    const binding = { key: createSecretKey(Buffer.alloc(32)), list: [] };
    const page = { limit: 100, after: undefined, binding };
    const rows = await this.#in(model, this.#people, (call) =>
      listRequests(call.db, this.#people, filter, page, call.now),
    );
    return rows.map(({ id }) => id);
  }

  pending(model: Model) {
    return this.#in(model, this.#manager, (call) => pending(call, this.#deploymentId));
  }

  async approve(model: Model, id: string, untilMs: number, planHash: string | undefined): Promise<string> {
    const report = { requestId: id, approvedUntil: new Date(untilMs).toISOString(), ...(planHash && { planHash }) };
    const body = { deploymentId: this.#deploymentId, approvals: [report] };
    return inShort(await this.#in(model, this.#manager, (call) => approvals(call, body)));
  }

  async decide(model: Model, id: string, outcome: DecisionReport["outcome"]): Promise<string> {
    const body = { deploymentId: this.#deploymentId, decisions: [{ requestId: id, outcome }] };
    return inShort(await this.#in(model, this.#manager, (call) => decisions(call, body)));
  }

  async materialize(model: Model, id: string, namespace: string): Promise<string> {
    const place = { namespace, resourcePlural: "accessgrants.sallyport.dev" };
    const body = { deploymentId: this.#deploymentId, requestIds: [id], ...place };
    return inShort(await this.#in(model, this.#manager, (call) => materialized(call, body)));
  }

  dispatch(model: Model, commandId: string): Promise<boolean> {
    return this.#in(model, this.#manager, (call) => dispatch(call, commandId, new Date(model.nowMs)));
  }

  async complete(model: Model, commandId: string, state: TerminalCommandState): Promise<boolean> {
    const completedAt = new Date(model.nowMs).toISOString();
    const end = { state, completedAt };
    return (await this.#in(model, this.#manager, (call) => complete(call, commandId, end, undefined))).updated;
  }

  sweep(model: Model): Promise<void> {
    return sweepLapsed(this.#world.platform.db, new Date(model.nowMs), HOOKS);
  }
}

function inShort({ results: [result] }: { results: readonly ReportResult[] }): string {
  return result?.code ?? result?.outcome ?? "nothing";
}

function paramsOf(command: string): Record<string, unknown> {
  return command === "debug/exec"
    ? { namespace: "shop", mode: "exec", clientKey: CLIENT_KEY }
    : { namespace: "shop", pod: "api-0" };
}
