import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CertificateAuthority } from "../../lab/cluster/certificates.ts";
import { packageProblem } from "../../lab/debian-package.ts";
import type { MachineDrainStatus } from "../crds/kinds/machine-drain.ts";
import { newSessionKey } from "../debug-link/session-key.ts";
import { curlPin } from "./joins/own-key.ts";
import { Box } from "./testing/box.ts";
import { JoinWorld, machineRequest, TOKEN } from "./testing/join-world.ts";
import { programProblems, SHELLS } from "./testing/shells.ts";

const script = readFileSync(fileURLToPath(new URL("../../deploy/join/leave.sh", import.meta.url)), "utf8");
const authority = new CertificateAuthority("kubernetes");
const CERTIFICATE = "var/lib/kubelet/pki/kubelet-client-current.pem";
const STATE = "var/lib/sallyport/machine";
const MINUTE = 60_000;

let world: JoinWorld;
let box: Box;
const running = new Set<ChildProcess>();
beforeAll(() => {
  expect(programProblems(packageProblem)).toEqual([]);
}, 300_000);
beforeEach(async () => {
  world = await JoinWorld.start(undefined, {
    nodeCa: authority.certificate,
    scripts: { script: "", "leave-script": script },
  });
  box = new Box();
  const { request } = machineRequest("m-1");
  const body = JSON.stringify({ machineId: "m-1", nodeName: "m-1", request, facts: {} });
  await world.ask("POST", "/v1/join", { body, token: TOKEN });
  world.report([...world.joins.keys()][0] ?? "", { state: "Joined" });
  isNode("m-1");
  knows(world.url);
});
afterEach(async () => {
  for (const child of running) child.kill("SIGKILL");
  box.close();
  await world.close();
});

function isNode(name: string): void {
  const shown = authority.issue({ commonName: `system:node:${name}`, organizations: ["system:nodes"] });
  box.write(CERTIFICATE, shown.certificate + shown.key, 0o600);
}
function knows(url: string, pin = curlPin({ cert: world.key.certificate, key: "" })): void {
  box.write(`${STATE}/server`, `${url} ${pin} m-1\n`);
}
function drainIs(status: MachineDrainStatus): void {
  const [drain] = world.drains.values();
  if (drain === undefined) throw new Error("no drain");
  world.drains.set(drain.metadata.name, { ...drain, status });
}
const isAsked = () => expect.poll(() => world.drains.size).toBe(1);

interface Leaving {
  /** What it has said so far. */
  readonly said: () => string;
  readonly ended: Promise<number | null>;
}

/** From a pipe, as the line that people paste has it. */
function leave(args: readonly string[] = [], shell: readonly string[] = ["sh"]): Leaving {
  const env = {
    ...{ PATH: `${box.bin}:${process.env.PATH}`, SALLYPORT_JOIN_ROOT: box.root },
    ...{ SALLYPORT_JOIN_LONGEST_PAUSE: "0.1", SALLYPORT_JOIN_RETRY_SECONDS: "0" },
  };
  const [program = "sh", ...before] = shell;
  const child = spawn(program, [...before, "-s", "--", ...args], { env });
  running.add(child);
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stdin.end(script);
  const ended = new Promise<number | null>((resolve) =>
    child.on("close", (code) => {
      running.delete(child);
      resolve(code);
    }),
  );
  return { ended, said: () => Buffer.concat(chunks).toString() };
}

describe.each(SHELLS.map((shell) => [shell.join(" "), shell] as const))("under %s", (_, shell) => {
  test(
    "a machine leaves when its node is empty, and not before",
    async () => {
      const { ended, said } = leave(["--deadline", "30"], shell);
      await isAsked();
      await expect.poll(said).toContain("waits for the customer");
      const blocker = { reason: "pod-disruption-budget" as const, workload: "shop/deployment/api", pods: [], count: 2 };
      const blockers = [{ ...blocker, message: "raise maxUnavailable\u001b[2J", since: "2026-01-01T00:00:00Z" }];
      drainIs({ state: "Blocked", left: "2/9", deadlineAt: "2026-01-01T00:30:00Z", blockers });
      await expect.poll(said).toContain("2/9 pods are left, deadline 2026-01-01T00:30:00Z");
      await expect.poll(said).toContain("  shop/deployment/api (2): pod-disruption-budget: raise maxUnavailable[2J\n");
      expect(box.has("systemctl.log")).toBe(false);
      drainIs({ state: "Drained" });
      expect([await ended, said()]).toEqual([0, expect.stringContaining("kubectl delete node m-1")]);
      expect(said().match(/2\/9 pods/g)).toHaveLength(1);
      expect(box.read("systemctl.log")).toBe("disable --now kubelet.service\n");
      expect(box.has(`${STATE}/leaving`)).toBe(false);
      const [drain] = world.drains.values();
      expect(Date.parse(drain?.spec.deadlineAt ?? "")).toBeGreaterThan(Date.now());
    },
    MINUTE,
  );
});

test(
  "one that was interrupted goes on with the drain that it asked for",
  async () => {
    expect(await leave(["--wait", "0"]).ended).toBe(18);
    drainIs({ state: "Drained" });
    expect(await leave().ended).toBe(0);
    expect(world.drains.size).toBe(1);
  },
  MINUTE,
);

test(
  "when the customer deletes the drain the kubelet runs on, and another try asks anew",
  async () => {
    const { ended, said } = leave();
    await isAsked();
    await expect.poll(said).toContain("waits for the customer");
    world.drains.clear();
    expect([await ended, said()]).toEqual([17, expect.stringContaining("the drain was deleted")]);
    expect(box.has("systemctl.log")).toBe(false);
    expect(await leave(["--wait", "0"]).ended).toBe(18);
    expect(world.drains.size).toBe(1);
  },
  MINUTE,
);

test.each<readonly [string, number, string, readonly string[], () => void]>([
  ["it is not root", 12, "sudo", [], () => box.program("id", "echo 1000")],
  ["it has not joined", 14, "has not joined", [], () => box.remove(`${STATE}/server`)],
  ["it has no certificate", 14, "cannot be used", [], () => box.remove(CERTIFICATE)],
  ["nothing listens", 15, "run this again later", [], () => knows("https://127.0.0.1:9")],
  [
    "the server has another key",
    15,
    "another key",
    [],
    () => knows(world.url, curlPin({ cert: newSessionKey("other", new Date()).certificate, key: "" })),
  ],
  ["it shows another node's certificate", 17, "its own node alone", [], () => isNode("m-2")],
  [
    "it was removed",
    17,
    "it was removed",
    [],
    () => world.report([...world.joins.keys()][0] ?? "", { state: "Removed" }),
  ],
  ["the deadline is no number", 10, "needs a number", ["--deadline", "1h"], () => undefined],
  ["an option is not known", 10, "not known", ["--force"], () => undefined],
])(
  "%s: %i, and the kubelet runs on",
  async (_, code, words, args, spoil) => {
    spoil();
    const { ended, said } = leave(args);
    expect([await ended, said()]).toEqual([code, expect.stringContaining(words)]);
    expect(world.drains.size).toBe(0);
    expect(box.has("systemctl.log")).toBe(false);
  },
  MINUTE,
);
