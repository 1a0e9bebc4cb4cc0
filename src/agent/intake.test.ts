import { describe, expect, test } from "vitest";
import { ApiError } from "../api-client/api-error.ts";
import type { SyncDeployment } from "../contract/deployments/sync.ts";
import { Board } from "./board.ts";
import { type ListedCommand, readListedCommand } from "./commands/listed-command.ts";
import { Hints } from "./hints.ts";
import { ALL, type Boards, Intake } from "./intake.ts";
import { COMMAND, commandRecord, context, DEPLOYMENT, forever, pendingRequest, REQUEST } from "./testing/sample.ts";

/** What the platform answers, as it would come over the wire: any shape. */
interface Levels {
  deployments: unknown[];
  requests: unknown[];
  commands: unknown[];
  gone?: boolean;
}

function intake(levels: Levels, accepts = () => true) {
  const boards: Boards = {
    deployments: new Board(10, () => undefined),
    requests: new Board(10, () => undefined),
    commands: new Board(10, () => undefined),
  };
  const hinted: string[] = [];
  const refused: string[] = [];
  const hint = (name: string): Hints => {
    const hints = new Hints(name);
    hints.start((key) => hinted.push(`${name}: ${key}`), forever);
    return hints;
  };
  const hints = {
    intake: hint("intake"),
    deployments: hint("deployments"),
    requests: hint("requests"),
    commands: hint("commands"),
  };
  const answer = (value: unknown): never => {
    if (levels.gone) throw new ApiError("NOT_FOUND", "no such deployment", { status: 404, retryable: false });
    return value as never;
  };
  const platform = {
    sync: { list: async () => answer({ deployments: levels.deployments }) },
    accessRelay: { pending: async () => answer({ requests: levels.requests, closed: [] }) },
    commands: {
      list: async () => {
        const page = answer({ items: levels.commands, nextCursor: null });
        meanwhile();
        return page;
      },
    },
  };
  let meanwhile = (): void => undefined;
  const metrics = { buffered: () => undefined, requestRefused: (reason: string) => void refused.push(reason) };
  const each = new Intake({ platform: platform as never, boards, hints, accepts, metrics });
  return {
    boards,
    hinted,
    refused,
    read: (key: string) => each.reconcile(key, context),
    during: (act: () => void) => {
      meanwhile = act;
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
};
const nothing: Levels = { deployments: [], requests: [], commands: [] };

describe("the intake", () => {
  test("lists deployments, and asks for what each has open", async () => {
    const { boards, hinted, read } = intake({ ...nothing, deployments: [deployment] });
    await read(ALL);
    expect(boards.deployments.get(DEPLOYMENT)).toMatchObject({ status: "running", stackResources: 0 });
    expect(hinted).toEqual([
      `deployments: ${DEPLOYMENT}`,
      `intake: commands/${DEPLOYMENT}`,
      `intake: requests/${DEPLOYMENT}`,
    ]);
  });

  test("hints at what is gone too, so that it ends here", async () => {
    const levels = { ...nothing, deployments: [deployment as unknown] };
    const { boards, hinted, read } = intake(levels);
    await read(ALL);
    levels.deployments = [];
    hinted.length = 0;
    await read(ALL);
    expect(boards.deployments.size).toBe(0);
    expect(hinted).toContain(`deployments: ${DEPLOYMENT}`);
  });

  test("takes the good items beside bad ones, which are counted", async () => {
    const bad = [null, 7, {}, { ...deployment, status: "dancing" }];
    const { boards, refused, read } = intake({
      deployments: [...bad, deployment],
      requests: [null, pendingRequest()],
      commands: [{}, commandRecord()],
    });
    await read(ALL);
    await read(`requests/${DEPLOYMENT}`);
    await read(`commands/${DEPLOYMENT}`);
    expect([boards.deployments.size, boards.requests.get(REQUEST)?.id, boards.commands.get(COMMAND)?.id]).toEqual([
      1,
      REQUEST,
      COMMAND,
    ]);
    expect(refused).toHaveLength(5);
  });

  test("reads nothing of a deployment that the customer does not accept (any more)", async () => {
    let accepted = true;
    const levels = { deployments: [deployment], requests: [pendingRequest()], commands: [commandRecord()] };
    const { boards, read } = intake(levels, () => accepted);
    const both = async (): Promise<readonly number[]> => {
      await read(`requests/${DEPLOYMENT}`);
      await read(`commands/${DEPLOYMENT}`);
      return [boards.requests.size, boards.commands.size];
    };
    expect(await both()).toEqual([1, 1]);
    accepted = false;
    expect(await both()).toEqual([0, 0]);
  });

  test("does not believe that a command of one deployment is another's", async () => {
    const { boards, read } = intake({
      ...nothing,
      commands: [commandRecord({ deploymentId: `dep_${"e".repeat(28)}` })],
    });
    await read(`commands/${DEPLOYMENT}`);
    expect(boards.commands.size).toBe(0);
  });

  test("keeps a command that was claimed while the platform wrote its list", async () => {
    const levels = { ...nothing, commands: [] as unknown[] };
    const { boards, during, read } = intake(levels);
    const claimed = readListedCommand(commandRecord({ state: "DISPATCHED" })) as ListedCommand;
    during(() => boards.commands.add(DEPLOYMENT, claimed));
    await read(`commands/${DEPLOYMENT}`);
    expect(boards.commands.get(COMMAND)).toBe(claimed);
    during(() => undefined);
    await read(`commands/${DEPLOYMENT}`);
    expect(boards.commands.size).toBe(0);
  });

  test("takes a deployment that is not ours any more for one without work", async () => {
    const levels: Levels = { ...nothing, commands: [commandRecord()] };
    const { boards, hinted, read } = intake(levels);
    await read(`commands/${DEPLOYMENT}`);
    levels.gone = true;
    hinted.length = 0;
    await read(`commands/${DEPLOYMENT}`);
    expect(boards.commands.size).toBe(0);
    expect(hinted).toEqual([`commands: ${COMMAND}`]);
  });
});

describe("a board", () => {
  test("has a bound, and tells of what found no room", () => {
    let dropped = 0;
    const board = new Board<{ id: string }>(2, () => {
      dropped += 1;
    });
    board.replace("a", [{ id: "1" }, { id: "2" }, { id: "3" }]);
    expect([board.size, dropped]).toEqual([2, 1]);
  });

  test("replaces one scope and leaves the others", () => {
    const board = new Board<{ id: string }>(9, () => undefined);
    board.replace("a", [{ id: "1" }]);
    board.replace("b", [{ id: "2" }]);
    expect(board.replace("a", [{ id: "3" }])).toEqual(["1", "3"]);
    expect(board.values().map(({ id }) => id)).toEqual(["2", "3"]);
  });
});

test("hints given before the controller starts are kept for it, once a key", () => {
  const hints = new Hints("x", ["first"]);
  hints.hint("second");
  hints.hint("second");
  const keys: string[] = [];
  hints.start((key) => keys.push(key), forever);
  hints.hint("third");
  expect(keys).toEqual(["first", "second", "third"]);
});
