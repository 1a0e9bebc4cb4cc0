import { sleep } from "../../../base/clock.ts";
import { FriendlyError } from "../../kernel/command.ts";
import { escaped, type Format, render, Table } from "../../kernel/output.ts";
import type { CallRoute, Surroundings } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { RolloutReader, type Wanted } from "./rollout-look.ts";
import { contentOf, isOnItsWay, retryLine, waitsForCustomer, whyOf } from "./rollout-words.ts";
import { NOT_RUN, type Standing, type WatchedState } from "./standing.ts";

/** For each request of a look after the first, so that a large rollout does not use up a key's 600 calls a minute. */
const POLL_MS = 2_000;
const ON_ITS_WAY = ["failed", "updating", "pending"] as const;
const ALL = [...ON_ITS_WAY, "updated", "pinned-other", "superseded", "on-other"] as const;

interface How {
  readonly timeoutMs: number;
  readonly isOnce: boolean;
  readonly format: Format;
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
  const reader = new RolloutReader(wanted, call);
  let before = new Map<string, string>();
  for (let isFirst = true; ; isFirst = false) {
    const look = await reader.look(isOnce ? [...ON_ITS_WAY, "updated"] : ON_ITS_WAY, signal);
    const standings = new Map(look.standings);
    // What is on its way no more is shown once more, as it is now.
    if ([...before.keys()].some((id) => !standings.has(id))) {
      const all = await reader.look(ALL, signal);
      for (const id of before.keys()) {
        const standing = all.standings.get(id);
        if (standing !== undefined) standings.set(id, standing);
      }
    }
    const now = clock.wallNow();
    const told = [...standings.values()].map((standing) => ({ standing, why: whyOf(standing, now) }));
    const changed = told.filter(({ standing, why }) => before.get(standing.item.id) !== contentOf(standing, why));
    if (format === "table") out(table.lines(changed.map(({ standing, why }) => lineOf(standing, why))));
    else if (changed.length > 0) {
      const shown = changed.map(({ standing: { item, state }, why }) => ({ ...item, state, why }));
      out(await render(shown, format));
    }
    before = new Map(
      told.flatMap(({ standing, why }) => {
        const { id } = standing.item;
        return look.standings.has(id) ? [[id, contentOf(standing, why)] as const] : [];
      }),
    );
    if (isFirst && (look.counts.get("pinned-other") ?? 0) > 0) {
      const pinned = await reader.pinned(MAX_NAMED, signal);
      const names = pinned.map(({ name, pinnedReleaseId }) => `${name} (${pinnedReleaseId})`);
      const most = listed(names, look.counts.get("pinned-other"));
      error(`${escaped(`pinned to another release, and not updated: ${most}`, "")}\n`);
    }
    const summary = escaped(summaryOf(look.counts, [...look.standings.values()]), "");
    const isOver = ![...look.counts].some(([state, count]) => isOnItsWay({ state }) && count > 0);
    if (isOver || isOnce) {
      error(`${summary}\n`);
      if (NOT_RUN.some((state) => (look.counts.get(state) ?? 0) > 0)) return EXIT_CODES.notRun.code;
      return isOver ? EXIT_CODES.done.code : EXIT_CODES.timeout.code;
    }
    if (isFirst) error(`${summary}; followed until none is on its way, or Ctrl-C\n`);
    const pauseMs = POLL_MS * Math.max(1, look.requests - 1);
    if (clock.monotonicMs() + pauseMs > endsMs) throw new FriendlyError(summary, { exitCode: EXIT_CODES.timeout.code });
    await sleep(clock, pauseMs, signal);
  }
}

/** In the order of the summary. Those that are left out are not to run the release. */
const WORDS: Readonly<Partial<Record<WatchedState, string>>> = {
  ...{ updated: "updated", updating: "updating", pending: "pending", failed: "failed" },
  ...{ "retry-needed": "waiting for a retry", "refresh-failed": "refresh-failed" },
  ...{ "delete-failed": "delete-failed", deleting: "being deleted" },
  "no-stack": "without a stack for its platform",
};

function summaryOf(counts: ReadonlyMap<WatchedState, number>, standings: readonly Standing[]): string {
  const words = Object.entries(WORDS).flatMap(([state, word]) => {
    const count = counts.get(state as WatchedState) ?? 0;
    return count === 0 ? [] : [`${count} ${word}`];
  });
  if (words.length === 0) return "no deployment is to run this release: promote it, or it has no followers";
  const waiting = standings.flatMap((each) => (waitsForCustomer(each) ? [each.item.name] : []));
  const retries = standings.flatMap(({ state, item }) => (state === "retry-needed" ? [retryLine(item.id)] : []));
  return [
    words.join(", "),
    ...(waiting.length === 0 ? [] : [`wait for the customer: ${listed(waiting)}`]),
    ...(retries.length === 0 ? [] : [`to begin: ${listed(retries)}`]),
  ].join("; ");
}

const MAX_NAMED = 5;
const COLUMNS = ["name", "group", "state", "status", "why"];

/** The first ones, and how many there are besides. */
function listed(names: readonly string[], count: number = names.length): string {
  const shown = names.slice(0, MAX_NAMED);
  const more = count > shown.length ? `, and ${count - shown.length} more` : "";
  return `${shown.join(", ")}${more}`;
}

function lineOf({ item, state }: Standing, why: string | null): Readonly<Record<string, unknown>> {
  return { name: item.name, group: item.deploymentGroup.name, state, status: item.status, why };
}
