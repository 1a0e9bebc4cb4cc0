import { describe, expect, test } from "vitest";
import { ApiError } from "../api-client/api-error.ts";
import type { SyncDeployment } from "../contract/deployments/sync.ts";
import { type TriggeredSource, triggered } from "../kube/controller/sources.ts";
import { type ListedCommand, readListedCommand } from "./commands/listed-command.ts";
import type { ListedDeployment } from "./deployments/listed-deployment.ts";
import { Snapshot } from "./kernel/snapshot.ts";
import { ALL, Lister, type Snapshots } from "./lister.ts";
import { COMMAND, commandRecord, context, DEPLOYMENT, forever, pendingRequest, REQUEST } from "./testing/sample.ts";

/** What the platform answers, as it would come over the wire: any shape. */
interface Levels {
  deployments: unknown[];
  requests: unknown[];
  commands: unknown[];
  sessions?: unknown[];
  gone?: boolean;
}

function lister(levels: Levels, accepts = () => true) {
  const snapshots: Snapshots = {
    deployments: new Snapshot(10, () => undefined),
    requests: new Snapshot(10, () => undefined),
    commands: new Snapshot(10, () => undefined),
    sessions: new Snapshot(10, () => undefined),
  };
  const triggeredKeys: string[] = [];
  const refused: string[] = [];
  const source = (name: string): TriggeredSource => {
    const triggers = triggered(name);
    triggers.start((key) => triggeredKeys.push(`${name}: ${key}`), forever);
    return triggers;
  };
  const triggers = {
    lister: source("lister"),
    deployments: source("deployments"),
    requests: source("requests"),
    commands: source("commands"),
    sessions: source("sessions"),
  };
  const answer = (value: unknown): never => {
    if (levels.gone) throw new ApiError("NOT_FOUND", "no such deployment", { status: 404, retryable: false });
    return value as never;
  };
  const platform = {
    sync: {
      list: async () => {
        const page = answer({ deployments: levels.deployments });
        duringList();
        return page;
      },
    },
    accessRelay: { pending: async () => answer({ requests: levels.requests, closed: [] }) },
    commands: {
      list: async () => {
        const page = answer({ items: levels.commands, nextCursor: null });
        duringList();
        return page;
      },
    },
    debugSessions: { list: async () => answer({ items: levels.sessions ?? [], nextCursor: null }) },
  };
  let duringList = (): void => undefined;
  const metrics = { buffered: () => undefined, requestRefused: (reason: string) => void refused.push(reason) };
  const each = new Lister({ platform: platform as never, snapshots, triggers, accepts, metrics });
  return {
    snapshots,
    triggeredKeys,
    refused,
    read: (key: string) => each.reconcile(key, context),
    during: (act: () => void) => {
      duringList = act;
    },
  };
}

const deployment: Partial<SyncDeployment> = {
  id: DEPLOYMENT,
  name: "one",
  projectId: `prj_${"p".repeat(28)}`,
  status: "running",
  platform: "kubernetes",
  deploymentModel: "pull",
  stackState: null,
  desiredReleaseId: null,
  currentReleaseId: null,
};
const nothing: Levels = { deployments: [], requests: [], commands: [] };

describe("the lister", () => {
  test("lists deployments, and asks for what each has open", async () => {
    const { snapshots, triggeredKeys, read } = lister({ ...nothing, deployments: [deployment] });
    await read(ALL);
    expect(snapshots.deployments.get(DEPLOYMENT)).toMatchObject({ status: "running", stackResources: 0 });
    expect(triggeredKeys).toEqual([
      `deployments: ${DEPLOYMENT}`,
      `lister: commands/${DEPLOYMENT}`,
      `lister: requests/${DEPLOYMENT}`,
      `lister: sessions/${DEPLOYMENT}`,
    ]);
  });

  test("triggers at what is gone too, so that it ends here", async () => {
    const levels = { ...nothing, deployments: [deployment as unknown] };
    const { snapshots, triggeredKeys, read } = lister(levels);
    await read(ALL);
    levels.deployments = [];
    triggeredKeys.length = 0;
    await read(ALL);
    expect(snapshots.deployments.size).toBe(0);
    expect(triggeredKeys).toContain(`deployments: ${DEPLOYMENT}`);
  });

  test("lists again what an answer has changed while the list was on its way: which of the two is older is not known", async () => {
    const levels = { ...nothing, deployments: [deployment, deployment] as unknown[] };
    const { snapshots, triggeredKeys, during, read } = lister(levels);
    const again = `lister: ${ALL}`;
    await read(ALL);
    const known = snapshots.deployments.get(DEPLOYMENT) as ListedDeployment;
    expect(triggeredKeys).not.toContain(again);
    during(() => snapshots.deployments.update({ ...known }));
    await read(ALL);
    expect(triggeredKeys).not.toContain(again);
    during(() => snapshots.deployments.update({ ...known, status: "updating" }));
    await read(ALL);
    expect(triggeredKeys.filter((each) => each === again)).toHaveLength(1);
    levels.deployments = [];
    during(() => snapshots.deployments.update({ ...known }));
    await read(ALL);
    expect(triggeredKeys.filter((each) => each === again)).toHaveLength(2);
    during(() => undefined);
    await read(ALL);
    expect([snapshots.deployments.size, triggeredKeys.filter((each) => each === again)]).toEqual([0, [again, again]]);
  });

  test("takes the good items beside bad ones, which are counted", async () => {
    const bad = [null, 7, {}, { ...deployment, status: "dancing" }];
    const { snapshots, refused, read } = lister({
      deployments: [...bad, deployment],
      requests: [null, pendingRequest()],
      commands: [{}, commandRecord()],
    });
    await read(ALL);
    await read(`requests/${DEPLOYMENT}`);
    await read(`commands/${DEPLOYMENT}`);
    expect([
      snapshots.deployments.size,
      snapshots.requests.get(REQUEST)?.id,
      snapshots.commands.get(COMMAND)?.id,
    ]).toEqual([1, REQUEST, COMMAND]);
    expect(refused).toHaveLength(5);
  });

  test("reads nothing of a deployment that the customer does not accept (any more)", async () => {
    let accepted = true;
    const levels = { deployments: [deployment], requests: [pendingRequest()], commands: [commandRecord()] };
    const { snapshots, read } = lister(levels, () => accepted);
    const both = async (): Promise<readonly number[]> => {
      await read(`requests/${DEPLOYMENT}`);
      await read(`commands/${DEPLOYMENT}`);
      return [snapshots.requests.size, snapshots.commands.size];
    };
    expect(await both()).toEqual([1, 1]);
    accepted = false;
    expect(await both()).toEqual([0, 0]);
  });

  test("reads the pending debug sessions of an accepted deployment, and no record that a manager made itself", async () => {
    const ids = ["a", "b"].map((letter) => `dbg_${letter.repeat(28)}`);
    const sessions = [
      { id: ids[0], deploymentId: DEPLOYMENT, access: {} },
      { id: ids[1], deploymentId: DEPLOYMENT, access: null },
      {},
    ];
    let accepted = false;
    const { snapshots, refused, triggeredKeys, read } = lister({ ...nothing, sessions }, () => accepted);
    await read(`sessions/${DEPLOYMENT}`);
    expect(snapshots.sessions.size).toBe(0);
    accepted = true;
    await read(`sessions/${DEPLOYMENT}`);
    expect(snapshots.sessions.values()).toMatchObject([{ id: ids[0], wanted: { fit: false } }]);
    expect(triggeredKeys).toEqual([`sessions: ${ids[0]}`]);
    expect(refused).toEqual(["unreadable"]);
  });

  test("does not believe that a command of one deployment is another's", async () => {
    const { snapshots, read } = lister({
      ...nothing,
      commands: [commandRecord({ deploymentId: `dep_${"e".repeat(28)}` })],
    });
    await read(`commands/${DEPLOYMENT}`);
    expect(snapshots.commands.size).toBe(0);
  });

  test("keeps a command that was claimed while the platform wrote its list", async () => {
    const levels = { ...nothing, commands: [] as unknown[] };
    const { snapshots, during, read } = lister(levels);
    const claimed = readListedCommand(commandRecord({ state: "DISPATCHED" })) as ListedCommand;
    during(() => snapshots.commands.add(DEPLOYMENT, claimed));
    await read(`commands/${DEPLOYMENT}`);
    expect(snapshots.commands.get(COMMAND)).toBe(claimed);
    during(() => undefined);
    await read(`commands/${DEPLOYMENT}`);
    expect(snapshots.commands.size).toBe(0);
  });

  test("takes a deployment that is not ours any more for one without work", async () => {
    const levels: Levels = { ...nothing, commands: [commandRecord()] };
    const { snapshots, triggeredKeys, read } = lister(levels);
    await read(`commands/${DEPLOYMENT}`);
    levels.gone = true;
    triggeredKeys.length = 0;
    await read(`commands/${DEPLOYMENT}`);
    expect(snapshots.commands.size).toBe(0);
    expect(triggeredKeys).toEqual([`commands: ${COMMAND}`]);
  });
});

describe("a snapshot", () => {
  test("has a bound, and tells of what found no room", () => {
    let dropped = 0;
    const snapshot = new Snapshot<{ id: string }>(2, () => {
      dropped += 1;
    });
    snapshot.replace("a", [{ id: "1" }, { id: "2" }, { id: "3" }]);
    expect([snapshot.size, dropped]).toEqual([2, 1]);
  });

  test("replaces one scope and leaves the others", () => {
    const snapshot = new Snapshot<{ id: string }>(9, () => undefined);
    snapshot.replace("a", [{ id: "1" }]);
    snapshot.replace("b", [{ id: "2" }]);
    expect(snapshot.replace("a", [{ id: "3" }])).toEqual(["1", "3"]);
    expect(snapshot.values().map(({ id }) => id)).toEqual(["2", "3"]);
  });
});
