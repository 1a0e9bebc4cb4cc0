import { stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { objectName } from "../../../src/crds/group.ts";
import { accessGrants } from "../../../src/crds/kinds/access-grant.ts";
import { debugSessions } from "../../../src/crds/kinds/debug-session.ts";
import { operationPolicies } from "../../../src/crds/kinds/operation-policy.ts";
import { GRANTS, People } from "../../world/people.ts";
import { ask } from "../platform/ask.ts";
import { type Row, spread } from "../table.ts";
import { granted, type OpenSession, opened } from "./engineer.ts";
import type { DebugOptions } from "./options.ts";
import { PIPE, type Typed } from "./typed.ts";
import { wayOf } from "./ways.ts";
import { type DebugWorld, POD } from "./world.ts";

const GOAL_MS = 2_000;
const BEAT_MS = 50;
/** What was on its way to the pod when kubectl ended has come by then. */
const SILENT_MS = 1_000;

/** A session with an exec through which a byte goes to the pod each 50 ms. */
interface Talk {
  readonly session: OpenSession;
  readonly requestId: string;
  readonly kubectl: Typed;
  /** When the last byte arrived at the pod, in ms since the epoch. */
  lastMs(): Promise<number>;
}

interface Hand {
  readonly what: string;
  pull(talk: Talk): Promise<unknown>;
  /** Takes back what would end the next session, too. */
  after?(): Promise<unknown>;
}

/** How long bytes still arrive at the pod after a hand has ended the session: each hand once a round. */
export async function killing(world: DebugWorld, { kills, say }: DebugOptions, signal: AbortSignal): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const hands = await handsOf(stack, world, signal);
  say(`debug: ${kills} sessions ended by each of ${hands.length} hands`);
  const took = new Map(hands.map(({ what }) => [what, [] as number[]]));
  for (let round = 0; round < kills; round += 1) {
    const talks = await Promise.all(hands.map((_, index) => talk(world, `${round}-${index}`, signal)));
    for (const [index, { what, pull, after }] of hands.entries()) {
      const each = talks[index];
      if (each === undefined) throw new Error("a session for each hand");
      const pulledMs = Date.now();
      await pull(each);
      await each.kubectl.ended;
      await pause(SILENT_MS, undefined, { signal });
      const ms = Math.max(0, (await each.lastMs()) - pulledMs);
      took.get(what)?.push(ms);
      say(`debug: ${what}: last byte after ${ms.toFixed(0)} ms`);
      await after?.();
      await each.session.close();
    }
  }
  const all = spread([...took.values()].flat());
  const each = [...took].map(([what, values]) => `${what} ${spread(values).median.toFixed(0)}`).join(", ");
  return [
    {
      what: `a session is ended → the last byte at the pod, ${kills} times by each of ${hands.length} hands`,
      measured: `p50 ${all.median.toFixed(0)} ms, p99 ${all.p99.toFixed(0)} ms, max ${all.max.toFixed(0)} ms (p50 of each: ${each})`,
      goal: `p99 ${GOAL_MS} ms`,
      reached: all.p99 <= GOAL_MS,
      figures: { all, ...Object.fromEntries(took) },
    },
  ];
}

/** One request each, of who has no program to start first. */
async function handsOf(
  stack: AsyncDisposableStack,
  { cluster, fleet }: DebugWorld,
  signal: AbortSignal,
): Promise<readonly Hand[]> {
  const client = await stack.use(new People(cluster)).admin();
  const call = ask(fleet.port, fleet.key);
  const merge = (spec: object) => ({ type: "merge", body: { spec } }) as const;
  const keyOf = (id: string) => ({ namespace: GRANTS, name: objectName(id) });
  const rules = (each: readonly object[] | null) =>
    client.patch(operationPolicies, { namespace: GRANTS, name: "default" }, merge({ rules: each }), {}, signal);
  return [
    {
      what: "the customer's word",
      pull: ({ session }) =>
        client.patch(debugSessions, keyOf(session.id), merge({ endedReason: "enough" }), {}, signal),
    },
    {
      what: "deletion",
      pull: ({ session }) => client.delete(debugSessions, keyOf(session.id), {}, signal),
    },
    {
      what: "the grant's end",
      pull: ({ requestId }) =>
        client.patch(accessGrants, keyOf(requestId), merge({ revokedReason: "enough" }), {}, signal),
    },
    {
      what: "the vendor",
      pull: ({ session }) => call("PATCH", `/v1/debug-sessions/${session.id}`, { state: "stopping" }),
    },
    // The last one: it ends all sessions that are open.
    {
      what: "a policy that denies",
      pull: () => rules([{ pattern: "debug/*", decision: "deny" }]),
      after: () => rules(null),
    },
  ];
}

async function talk(world: DebugWorld, name: string, signal: AbortSignal): Promise<Talk> {
  const grant = await granted(world, "exec", signal);
  const session = await opened(world, grant, signal);
  const file = `beats-${name}`;
  const way = wayOf(world, file, session.kubeconfig);
  const kubectl = way.kubectl(["exec", "-i", POD, "--", "sh", "-c", `echo begins; exec cat > ${file}`], {
    stdin: PIPE,
  });
  const { stdin } = kubectl.child;
  stdin?.on("error", () => undefined); // It ends before the last beat.
  const beat = setInterval(() => stdin?.write("."), BEAT_MS);
  void kubectl.ended.finally(() => clearInterval(beat));
  await kubectl.says(/begins/, signal);
  const seen = () => stat(join(world.pod.folder, file));
  while ((await seen()).size < 4) await pause(BEAT_MS, undefined, { signal });
  return { session, requestId: grant.requestId, kubectl, lastMs: async () => (await seen()).mtimeMs };
}
