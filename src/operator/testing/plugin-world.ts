import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { redactText } from "../../crds/redact.ts";
import type { EnabledOperation } from "../../plugins/enabled-plugins.ts";
import type { PluginOperation } from "../../plugins/metadata.ts";
import { pluginOperation } from "../custom-operations/plugin-operation.ts";
import { Turns } from "../custom-operations/turns.ts";
import { execute, type Outcome } from "../invocations/execution.ts";
import { stopSignal } from "../invocations/stop-signal.ts";
import type { OperationClient } from "../operations/operation.ts";
import { FakeCluster } from "./fake-cluster.ts";

const DEPLOYMENTS = { group: "apps", version: "v1", plural: "deployments" } as const;
const RULES = [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list", "patch"] }] as const;

interface Logged {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** One plugin in a folder of its own, and an API server in memory with the deployment `web` of namespace `shop`. */
export class PluginWorld {
  readonly cluster: FakeCluster = new FakeCluster();
  readonly logged: Logged[] = [];
  readonly folder: string;
  /** In place of the client of the grant's account. */
  client: OperationClient | undefined;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** @param run the body of `async run({ client, params, clock, signal, redact, startedAt })` */
  static async with(run: string, more = ""): Promise<PluginWorld> {
    const folder = await mkdtemp(join(tmpdir(), "sallyport-plugin-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const at = { namespace: "shop", name: "web" };
    const text = `import { defineOperation, OperationError } from "@sallyport/plugin";
const DEPLOYMENTS = ${JSON.stringify(DEPLOYMENTS)};
const AT = ${JSON.stringify(at)};
${more}
export default { act: defineOperation({ async run({ client, params, clock, signal, redact, startedAt }) { ${run} } }) };
`;
    await writeFile(join(folder, "plugin.mjs"), text);
    const world = new PluginWorld(folder);
    world.cluster.put(
      { ...DEPLOYMENTS, kind: "Deployment", namespaced: true },
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { ...at, uid: "u-1", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
      },
    );
    return world;
  }

  /** Runs it as an invocation is run, with the time limit that is given. */
  async run(options: { readonly timeLimitMs?: number; readonly stop?: AbortSignal } = {}): Promise<Outcome> {
    const { timeLimitMs = 60_000, stop = new AbortController().signal } = options;
    const log = { info: (fields: object, text: string) => void this.logged.push({ fields: { ...fields }, text }) };
    const operation = pluginOperation(
      { enabled: ENABLED, declared: DECLARED, module: join(this.folder, "plugin.mjs") },
      { clock: systemClock, log: log as unknown as Logger, turns: new Turns(1) },
    );
    const bound = operation.bind({ namespace: "shop", name: "web" });
    if (!bound.ok) throw new Error(bound.problems.join());
    const [controller, release] = stopSignal({ clock: systemClock, timeLimitMs, graceMs: 0 }, stop);
    stop.addEventListener("abort", () => controller.abort(stop.reason), { once: true });
    try {
      return await execute(
        { bound: bound.params, access: {} as never, startedAt: new Date("2026-01-01T10:00:00Z") },
        {
          access: { open: async () => "token" },
          clientFor: () => this.client ?? this.cluster.client("grant"),
          fence: () => undefined,
          redact: (text) => redactText(text, () => undefined),
          clock: systemClock,
        },
        controller.signal,
      );
    } finally {
      release();
    }
  }
}

const ENABLED: EnabledOperation = {
  plugin: "search",
  version: "1.0.0",
  name: "act",
  command: "search/act",
  tier: "mutating",
  rules: RULES.map((rule) => ({
    apiGroups: [...rule.apiGroups],
    resources: [...rule.resources],
    verbs: [...rule.verbs],
  })),
};

const DECLARED: PluginOperation = {
  name: "act",
  tier: "mutating",
  description: "Acts.",
  paramsSchema: {
    type: "object",
    required: ["namespace"],
    additionalProperties: false,
    properties: { namespace: { type: "string" }, name: { type: "string" } },
  },
  rules: ENABLED.rules,
  timeLimitSeconds: 60,
  result: { said: "What it said.", seen: "What it saw." },
};
