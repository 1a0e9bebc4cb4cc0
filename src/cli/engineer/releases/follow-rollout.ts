import { sleep } from "../../../base/clock.ts";
import type { ReleaseDeployment, RolloutState } from "../../../contract/releases/releases.ts";
import { FriendlyError } from "../../kernel/command.ts";
import { escaped, type Format, render, Table } from "../../kernel/output.ts";
import type { CallRoute, Surroundings } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { contentOf, waitsForCustomer, whyOf } from "./rollout-words.ts";

/** For each page of a look, so that a large rollout does not use up a key's 600 calls a minute. */
const POLL_MS = 2_000;
const ON_ITS_WAY = ["failed", "updating", "pending"] as const;
const ALL = [...ON_ITS_WAY, "updated", "pinned-other", "superseded", "on-other"] as const;

interface Wanted {
  readonly id: string;
  readonly group?: string;
}

interface How {
  readonly timeoutMs: number;
  readonly isOnce: boolean;
  readonly format: Format;
}

interface Look {
  readonly items: ReadonlyMap<string, ReleaseDeployment>;
  readonly counts: Readonly<Record<RolloutState, number>>;
  readonly pages: number;
}

/**
 * Prints each deployment that is to run the release, and again when it has changed, until none is on its way.
 * @returns the exit code
 * @throws FriendlyError after `timeoutMs`
 */
export async function followRollout(
  wanted: Wanted,
  { timeoutMs, isOnce, format }: How,
  { out, error, clock }: Pick<Surroundings, "out" | "error" | "clock">,
  call: CallRoute,
  signal: AbortSignal,
): Promise<number> {
  const endsMs = clock.monotonicMs() + timeoutMs;
  const table = new Table(COLUMNS);
  let before = new Map<string, string>();
  for (let isFirst = true; ; isFirst = false) {
    const look = await read(wanted, isOnce ? [...ON_ITS_WAY, "updated"] : ON_ITS_WAY, call, signal);
    const items = new Map(look.items);
    // What is on its way no more is shown once more, as it is now.
    if ([...before.keys()].some((id) => !items.has(id))) {
      const all = await read(wanted, ALL, call, signal);
      for (const id of before.keys()) {
        const item = all.items.get(id);
        if (item !== undefined) items.set(id, item);
      }
    }
    const now = clock.wallNow();
    const told = [...items.values()].map((item) => ({ item, why: whyOf(item, now) }));
    const changed = told.filter(({ item, why }) => before.get(item.id) !== contentOf(item, why));
    if (format === "table") out(table.lines(changed.map(({ item, why }) => lineOf(item, why))));
    else if (changed.length > 0)
      out(
        await render(
          changed.map(({ item }) => item),
          format,
        ),
      );
    before = new Map(
      told.flatMap(({ item, why }) => (look.items.has(item.id) ? [[item.id, contentOf(item, why)] as const] : [])),
    );
    const { failed, updating, pending } = look.counts;
    const waiting = told.flatMap(({ item }) => (waitsForCustomer(item) ? [item.name] : []));
    const summary = escaped(summaryOf(look.counts, waiting), "");
    const isOver = updating + pending === 0;
    if (isOver || isOnce) {
      error(`${summary}\n`);
      if (failed > 0) return EXIT_CODES.notRun.code;
      return isOver ? EXIT_CODES.done.code : EXIT_CODES.timeout.code;
    }
    if (isFirst) error(`${summary}; followed until none is on its way, or Ctrl-C\n`);
    const pauseMs = POLL_MS * look.pages;
    if (clock.monotonicMs() + pauseMs > endsMs) throw new FriendlyError(summary, { exitCode: EXIT_CODES.timeout.code });
    await sleep(clock, pauseMs, signal);
  }
}

async function read(
  { id, group }: Wanted,
  state: readonly RolloutState[],
  call: CallRoute,
  signal: AbortSignal,
): Promise<Look> {
  const items = new Map<string, ReleaseDeployment>();
  let counts: Look["counts"] | undefined;
  let cursor: string | null = null;
  for (let pages = 1; ; pages += 1) {
    const filter = { state, limit: 100, ...(group !== undefined && { deploymentGroup: group }) };
    const query = { ...filter, ...(cursor !== null && { cursor }) };
    const page = (await call("releases", "deployments", { params: { id }, query, body: undefined }, signal)) as Page;
    for (const item of page.items) items.set(item.id, item);
    counts ??= page.stateCounts;
    cursor = page.nextCursor;
    if (cursor === null) return { items, counts, pages };
  }
}

interface Page {
  readonly items: readonly ReleaseDeployment[];
  readonly nextCursor: string | null;
  readonly stateCounts: Readonly<Record<RolloutState, number>>;
}

function summaryOf(counts: Look["counts"], waiting: readonly string[]): string {
  const words = (["updated", "updating", "pending", "failed"] as const).flatMap((state) =>
    counts[state] === 0 ? [] : [`${counts[state]} ${state}`],
  );
  if (words.length === 0) return "no deployment is to run this release: promote it, or it has no followers";
  const shown = waiting.slice(0, MAX_NAMED).join(", ");
  const more = waiting.length > MAX_NAMED ? `, and ${waiting.length - MAX_NAMED} more` : "";
  return `${words.join(", ")}${waiting.length === 0 ? "" : `; wait for the customer: ${shown}${more}`}`;
}

const MAX_NAMED = 5;
const COLUMNS = ["name", "group", "state", "status", "why"];

function lineOf(item: ReleaseDeployment, why: string | null): Readonly<Record<string, unknown>> {
  return { name: item.name, group: item.deploymentGroup.name, state: item.rolloutState, status: item.status, why };
}
