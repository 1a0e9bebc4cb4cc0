import type { ClientOptions } from "../../api-client/options.ts";
import { type Caller, callerOf } from "../../api-client/table-client.ts";
import type { Clock } from "../../base/clock.ts";
import type { Environment } from "../../base/settings.ts";
import { AREAS } from "../../contract/areas.ts";
import type { RouteTable } from "../../contract/wire/route.ts";
import { FriendlyError } from "../kernel/command.ts";
import { version } from "../kernel/version-command.ts";
import { friendly } from "./exit-codes.ts";
import { type Session, type SessionFlags, session } from "./session.ts";
import type { CallValues } from "./values.ts";

/** Everything outside the process that the engineer's commands use; tests replace it. */
export interface Surroundings {
  readonly env: Environment;
  readonly clock: Clock;
  out(text: string): void;
  error(text: string): void;
  /** Standard output is a terminal: `--watch` may redraw it. */
  readonly isTTY: boolean;
  /** All of standard input. */
  readInput(): Promise<string>;
  /** Asks on the terminal and does not show the answer. Undefined: there is no terminal. */
  readonly askSecret: ((question: string, signal: AbortSignal) => Promise<string>) | undefined;
  /** Starts a browser; false when there is none. Undefined: standard error is no terminal. */
  readonly openBrowser: ((address: string) => boolean) | undefined;
  /** Runs the person's own shell with these variables until it ends; the signal hangs it up. Absent: no terminal. */
  readonly runShell?: (variables: Environment, signal: AbortSignal) => Promise<void>;
  /** Runs a program of the person's own to its end. Undefined, and absent: there is no such program. */
  readonly runTool?: (program: string, args: readonly string[], signal: AbortSignal) => Promise<ToolAnswer | undefined>;
}

export interface ToolAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** One call by the names of the table. @throws FriendlyError with the API's code and hint. */
export type CallRoute = (area: string, name: string, values: CallValues, signal: AbortSignal) => Promise<unknown>;

/** Calls with the credential of the environment or the profile, for as long as `work` runs. */
export async function signedIn<T>(
  { env, clock }: Pick<Surroundings, "env" | "clock">,
  flags: SessionFlags,
  signal: AbortSignal,
  work: (call: CallRoute) => Promise<T>,
): Promise<T> {
  return calling(await session(env, flags, clock, signal), work);
}

export async function calling<T>(
  { url: baseUrl, credential, workspace }: Session,
  work: (call: CallRoute) => Promise<T>,
): Promise<T> {
  // The platform learns from it that the user works with the command line.
  const userAgent = `sallyport-cli/${await version()}`;
  const caller = usable({ baseUrl, credential, userAgent, ...(workspace && { workspace }) });
  try {
    return await work(async (area, name, { params, query, body }, signal) => {
      // The values are of the route's schemas, which the compiler cannot see here.
      const args = { params, query, ...(body !== undefined && { body }) } as Parameters<Caller["call"]>[1];
      const route = await routeOf(area, name);
      try {
        return await caller.call({ area, name, route }, args, signal);
      } catch (error) {
        throw friendly(error, baseUrl);
      }
    });
  } finally {
    await caller.close();
  }
}

/** Only the area that is called is loaded: building the schemas of all areas takes longer than a call. */
async function routeOf(area: string, name: string) {
  const areas: Readonly<Record<string, () => Promise<RouteTable>>> = AREAS;
  const route = (await areas[area]?.())?.[name];
  if (route === undefined) throw new Error(`there is no route ${area}.${name}`);
  return route;
}

/** An unusable address: the message is enough, without a stack trace. */
function usable(options: ClientOptions): Caller {
  try {
    return callerOf(options);
  } catch (error) {
    throw new FriendlyError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
