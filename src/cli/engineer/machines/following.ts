import { randomUUID } from "node:crypto";
import { sleep } from "../../../base/clock.ts";
import type { AccessRequestWithApproval } from "../../../contract/access-requests/access-requests.ts";
import type { Machine } from "../../../contract/machines/machine.ts";
import type { ReportedJoinServer } from "../../../contract/machines/machines.ts";
import { FriendlyError } from "../../kernel/command.ts";
import { escaped } from "../../kernel/output.ts";
import { toldOf } from "../access.ts";
import type { CallRoute, Surroundings } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { changes, linesOf } from "./machine-words.ts";

export interface Inventory {
  readonly machines: readonly Machine[];
  readonly joinServer: ReportedJoinServer | null;
}

export async function inventoryOf(id: string, call: CallRoute, signal: AbortSignal): Promise<Inventory> {
  const values = { params: { id }, query: {}, body: undefined };
  return (await call("machines", "inventory", values, signal)) as Inventory;
}

/** What is wished of one machine. */
export interface Wish {
  readonly act: "drain" | "remove";
  readonly deploymentId: string;
  readonly machineId: string;
}

/** Asks the customer to let the wish happen: an access request with one line for that machine. @returns its id */
export async function askCustomer(
  { act, deploymentId, machineId }: Wish,
  reason: string,
  acceptStale: boolean,
  call: CallRoute,
  signal: AbortSignal,
): Promise<string> {
  const body = {
    deploymentId,
    remediationPlanId: `cli-${randomUUID()}`,
    title: `${act === "drain" ? "Drain" : "Remove"} machine ${machineId}`,
    reason,
    commands: [{ command: `machines/${act}`, summary: `${act} machine ${machineId}`, params: { machineId } }],
  };
  const { id } = (await call("accessRequests", "create", { params: {}, query: {}, body }, signal)) as {
    readonly id: string;
  };
  const queue = { params: { id }, query: {}, body: acceptStale ? { acceptStale } : undefined };
  await call("accessRequests", "queue", queue, signal);
  return id;
}

const POLL_MS = 2_000;
/** The agent brings a request into the cluster within seconds; then there is a line to approve it with. */
const LINE_WITHIN_MS = 20_000;

type Told = Pick<Surroundings, "clock" | "error">;

/** Tells how a request stands, until there is a line for the customer or it is decided. */
export async function tellRequest(
  id: string,
  { clock, error }: Told,
  call: CallRoute,
  signal: AbortSignal,
): Promise<void> {
  const tell = teller(error);
  const endsMs = clock.monotonicMs() + LINE_WITHIN_MS;
  for (;;) {
    const request = await requestOf(id, call, signal);
    tell("request", await toldOf(request, call, signal));
    if (request.status !== "queued" || request.kubectlApprove !== null || clock.monotonicMs() > endsMs) return;
    await sleep(clock, POLL_MS, signal);
  }
}

async function requestOf(id: string, call: CallRoute, signal: AbortSignal): Promise<AccessRequestWithApproval> {
  const values = { params: { id }, query: {}, body: undefined };
  return (await call("accessRequests", "get", values, signal)) as AccessRequestWithApproval;
}

/** Prints the text about something when it is another than before. */
function teller(error: (text: string) => void): (about: string, text: string) => void {
  const told = new Map<string, string>();
  return (about, text) => {
    if (told.get(about) !== text) error(`${text}\n`);
    told.set(about, text);
  };
}

/**
 * Prints one line a change on standard error until the wish is done, is cancelled, or was refused by the customer.
 * @returns the exit code
 * @throws FriendlyError after `timeoutMs`; the wish stays
 */
export async function followWish(
  wish: Wish,
  requestId: string | undefined,
  timeoutMs: number,
  { clock, error }: Told,
  call: CallRoute,
  signal: AbortSignal,
): Promise<number> {
  const endsMs = clock.monotonicMs() + timeoutMs;
  const tell = teller(error);
  let before: ReadonlyMap<string, string> = new Map();
  for (;;) {
    if (requestId !== undefined) {
      const request = await requestOf(requestId, call, signal);
      tell("request", await toldOf(request, call, signal));
      if (request.status === "rejected") {
        error(`the customer said no; sallyport machines cancel takes a drain back\n`);
        return EXIT_CODES.notRun.code;
      }
    }
    const { machines } = await inventoryOf(wish.deploymentId, call, signal);
    const machine = machines.find(({ machineId }) => machineId === wish.machineId);
    const now = machine === undefined ? new Map<string, string>() : linesOf(machine);
    for (const line of changes(before, now)) error(`${escaped(line, "")}\n`);
    before = now;
    const ended = endOf(wish, machine, error);
    if (ended !== undefined) return ended;
    if (clock.monotonicMs() + POLL_MS > endsMs) {
      throw new FriendlyError(`${wish.machineId} is still ${machine?.status}: the wish stays`, {
        exitCode: EXIT_CODES.timeout.code,
      });
    }
    await sleep(clock, POLL_MS, signal);
  }
}

/** Undefined: the wish is not over. */
function endOf({ act, machineId }: Wish, machine: Machine | undefined, error: Told["error"]): number | undefined {
  if (machine === undefined) {
    error(`${machineId} is gone\n`);
    return act === "remove" ? EXIT_CODES.done.code : EXIT_CODES.notRun.code;
  }
  const isByCustomer = machine.customerCancelledAt !== null;
  if (act === "remove" && !isByCustomer) return undefined;
  if (act === "drain" && machine.status === "drained") return EXIT_CODES.done.code;
  if (act === "drain" && machine.drainRequestedAt !== null) return undefined;
  const what = act === "drain" ? "drain" : "removal";
  error(`the ${what} of ${machineId} was cancelled${isByCustomer ? " by the customer" : ""}\n`);
  return EXIT_CODES.notRun.code;
}
