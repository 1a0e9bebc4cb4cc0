import type { Topic } from "../../../contract/managers/managers.ts";
import type { BodyOf, ParamsOf, QueryOf, ResponseOf, Route, RouteTable } from "../../../contract/wire/route.ts";
import type { Db } from "../../database/db.ts";
import type { CommandRow } from "../../database/tables/commands.ts";
import type { DeploymentRow } from "../../database/tables/deployments.ts";
import type { ReleaseChannelRow, ReleaseRow } from "../../database/tables/releases.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { NewEvent } from "../events/outbox.ts";
import type { Waker } from "../events/waker.ts";
import type { Caller, Principal } from "../tenancy/principal.ts";
import type { CallConfig } from "./call-config.ts";
import type { Proof } from "./credential.ts";
import type { PageRequest } from "./page.ts";

/** One request, checked: everything a handler may know. Handlers hold no state and read no clock. */
export interface Call<R extends Route = Route> {
  readonly route: R;
  readonly params: ParamsOf<R>;
  readonly query: QueryOf<R>;
  readonly body: BodyOf<R>;
  readonly principal: NeedsNoWorkspace<R> extends true ? Caller : Principal;
  readonly workspaceId: NeedsNoWorkspace<R> extends true ? string | undefined : string;
  /**
   * The request's transaction: serialisable, and read-only for GET (so: expiry is computed on read, not written).
   * It may run again from the start after a lost race, so a handler does nothing outside it.
   * Long-polls have no transaction: here it is the plain connection.
   */
  readonly db: Db;
  /** One instant for the whole request. */
  readonly now: Date;
  readonly requestId: string;
  /** Aborts at the 30 s limit, when the client hangs up, and when the server drains (long-polls). */
  readonly signal: AbortSignal;
  readonly config: CallConfig;
  /** What each tenant may have of what tenants share. */
  readonly budgets: Budgets;
  /** Position and binding of a paginated list; see `paged` and `toPage`. */
  readonly page: PageRequest;
  /** Long-polls only: sleep until something is raised for a manager. */
  readonly waker: Waker;
  /** Writes an event in the same transaction (§13). */
  emit(event: NewEvent): Promise<void>;
  /**
   * Tells the deployment's manager that `topic` has changed: a work-feed row in the same transaction, a wake-up after
   * the commit. `managerId` only when it is not the current one, as for the old manager of a reassigned deployment.
   */
  raise(topic: Topic, deploymentId: string, managerId?: string): Promise<void>;
  /** What other areas do when something happens, in this transaction. */
  readonly hooks: Hooks;
  /** Wakes, after the commit, whoever sleeps under that name: work that a request leaves to the process. */
  wake(sleeper: string): void;
  /** Of a user: what its credential hangs on. */
  readonly proof: Proof | undefined;
  /** Long-polls only: false once the credential has been revoked, disabled or expired. */
  credentialLives(): Promise<boolean>;
}

/** What a rule needs that makes a change: a request's transaction, or the server's own (unrequested.ts). */
export type ChangeCall = Pick<Call, "db" | "now" | "emit" | "raise" | "hooks">;

type Hook<T> = (call: ChangeCall, what: T) => Promise<void>;

/**
 * What follows from a change in one area and is another area's rule. Hooks run in the transaction of the change, after it is
 * stored, in their order. areas/hooks.ts is the list; the server hands it in, so that an area that makes changes need not
 * import those that follow.
 */
export interface Hooks {
  /** A command has reached a terminal state. */
  readonly commandSettled: readonly Hook<CommandRow>[];
  /** A deployment's status has changed. */
  readonly deploymentChanged: readonly Hook<DeploymentRow>[];
  /** A deployment is deleted; its keys and its lease are gone. */
  readonly deploymentEnded: readonly Hook<DeploymentRow>[];
  /** A deployment has been taken from its manager: what the manager holds open on it ends. */
  readonly deploymentTaken: readonly Hook<Pick<DeploymentRow, "id">>[];
  /** A request has pointed a channel at another release. */
  readonly channelMoved: readonly ((
    call: ChangeCall & Pick<Call, "principal" | "wake">,
    moved: { readonly channel: ReleaseChannelRow; readonly release: ReleaseRow },
  ) => Promise<void>)[];
}

/** On these routes a signed-in user may come without a workspace (§0.5). */
type NeedsNoWorkspace<R extends Route> = [R["workspace"]] extends ["exempt"]
  ? [R] extends [never]
    ? false
    : true
  : false;

/** Picks the route's alternative success status, or adds headers. */
export class Reply<T> {
  readonly status: number;
  readonly body: T;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: T, headers: Readonly<Record<string, string>> = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

export function reply<T>(status: number, body: T, headers?: Readonly<Record<string, string>>): Reply<T> {
  return new Reply(status, body, headers);
}

export type Handler<R extends Route> = (call: Call<R>) => Promise<ResponseOf<R> | Reply<ResponseOf<R>>>;

/** One handler a route of the area, checked by the compiler: none missing, none too many. */
export type Handlers<T extends RouteTable> = { readonly [K in keyof T]: Handler<T[K]> };
