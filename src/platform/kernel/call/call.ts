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

/** One checked request, with everything that a handler may use. Handlers hold no state and read no clock. */
export interface Call<R extends Route = Route> {
  readonly route: R;
  readonly params: ParamsOf<R>;
  readonly query: QueryOf<R>;
  readonly body: BodyOf<R>;
  readonly principal: NeedsNoWorkspace<R> extends true ? Caller : Principal;
  readonly workspaceId: NeedsNoWorkspace<R> extends true ? string | undefined : string;
  /**
   * The request's transaction: serialisable, and read-only for GET. A GET therefore computes expiry and does not store
   * it.
   * The engine runs the handler again from the start after a serialisation conflict, so a handler changes nothing
   * outside of the transaction. Long-polls have no transaction: here `db` is the plain connection.
   */
  readonly db: Db;
  /** The same instant for the whole request. */
  readonly now: Date;
  readonly requestId: string;
  /** The header `If-None-Match`, on routes with `etag`. */
  readonly ifNoneMatch: string | undefined;
  /** Aborts at the 30 s limit, when the client hangs up, and when the server drains (long-polls). */
  readonly signal: AbortSignal;
  readonly config: CallConfig;
  /** Limits on what each tenant may use of shared resources. */
  readonly budgets: Budgets;
  /** Position and binding of a paginated list; see `paged` and `toPage`. */
  readonly page: PageRequest;
  /** Long-polls only: waits until something is raised for a manager. */
  readonly waker: Waker;
  /** Writes an event in the same transaction (§13). */
  emit(event: NewEvent): Promise<void>;
  /**
   * Notifies the deployment's manager that `topic` has changed: a work-feed row in the same transaction, a wake-up after
   * the commit. `managerId` only when it is not the current one, as for the old manager of a reassigned deployment.
   */
  raise(topic: Topic, deploymentId: string, managerId?: string): Promise<void>;
  /** What other areas do when something happens. They run in this transaction. */
  readonly hooks: Hooks;
  /** Wakes, after the commit, the background process that waits under that name, so that it does the work now. */
  wake(sleeper: string): void;
  /**
   * What a refusal costs: runs when the handler has refused the request, in a transaction of its own, because that of the
   * request is rolled back. The last one that was given counts.
   */
  onRefusal(work: (db: Db) => Promise<void>): void;
  /** Users only: the session or grant that the credential belongs to. */
  readonly proof: Proof | undefined;
  /** Long-polls only: false once the credential has been revoked, disabled or expired. */
  credentialLives(): Promise<boolean>;
}

/**
 * What a rule needs in order to make a change. A request's call has it, and so has a change made by a sweep
 * (unrequested.ts).
 */
export type ChangeCall = Pick<Call, "db" | "now" | "emit" | "raise" | "hooks">;

type Hook<T> = (call: ChangeCall, what: T) => Promise<void>;

/**
 * Rules of other areas that follow a change in one area. Hooks run in the transaction of the change, after it is
 * stored, in the order of the list. areas/hooks.ts is the list, and the server passes it in, so that the area that
 * makes the change does not import the areas that follow it.
 */
export interface Hooks {
  /** A command has reached a terminal state. */
  readonly commandSettled: readonly Hook<CommandRow>[];
  /** A deployment's status has changed. */
  readonly deploymentChanged: readonly Hook<DeploymentRow>[];
  /** A deployment is deleted; its keys and its lease are gone. */
  readonly deploymentEnded: readonly Hook<DeploymentRow>[];
  /**
   * The platform has taken a deployment from its manager. Sessions that the manager holds open on the deployment end.
   */
  readonly deploymentTaken: readonly Hook<Pick<DeploymentRow, "id">>[];
  /** A request has pointed a channel at another release. */
  readonly channelMoved: readonly ((
    call: ChangeCall & Pick<Call, "principal" | "wake" | "config">,
    moved: { readonly channel: ReleaseChannelRow; readonly release: ReleaseRow },
  ) => Promise<void>)[];
  /** A custom plugin of the project was registered, enabled or disabled. */
  readonly pluginsChanged: readonly ((
    call: Pick<Call, "db" | "now" | "wake" | "config">,
    projectId: string,
  ) => Promise<void>)[];
}

/** On these routes a signed-in user may omit the workspace (§0.5). */
type NeedsNoWorkspace<R extends Route> = [R["workspace"]] extends ["exempt"]
  ? [R] extends [never]
    ? false
    : true
  : false;

/** Lets a handler answer with the route's alternative success status, or add headers. */
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

/** The caller has this very answer already: on routes with `etag`. */
export function notModified(headers: Readonly<Record<string, string>>): Reply<never> {
  return new Reply(304, undefined as never, headers);
}

export type Handler<R extends Route> = (call: Call<R>) => Promise<ResponseOf<R> | Reply<ResponseOf<R>>>;

/** The handlers of an area, one for each route. The compiler reports a missing or an unknown one. */
export type Handlers<T extends RouteTable> = { readonly [K in keyof T]: Handler<T[K]> };
