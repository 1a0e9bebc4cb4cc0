import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { useCluster } from "../../lab/cluster/use-cluster.ts";
import { fullOnly, isFull } from "../../src/base/testing/full.ts";
import { has } from "../versions/lacking.ts";

// Does what a person does with `npm start`, with the real programs. npm itself is left out: it only puts Node 24 on the
// PATH.

const MAIN = join(import.meta.dirname, "../../lab/main.ts");

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-start-"));
});
afterEach(async () => {
  for (const pid of await processesOf(folder)) process.kill(pid, "SIGKILL");
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});

class Run {
  readonly #child: ChildProcess;
  readonly ended: Promise<number | null>;
  out = "";

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, [MAIN, "--dir", join(folder, "run"), ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.out += text;
      });
    }
    this.ended = new Promise((resolve) => this.#child.once("close", resolve));
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Waits for the pattern and returns its first match. Fails with the whole output when the run ends before. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    let over = false;
    void this.ended.then(() => {
      over = true;
    });
    return await expect
      .poll(
        () => {
          const found = pattern.exec(this.out);
          if (found === null && over) throw new Error(`it ended without saying ${pattern}:\n${this.out}`);
          return found;
        },
        { timeout: 240_000, interval: 50 },
      )
      .not.toBeNull()
      .then(() => pattern.exec(this.out) as RegExpExecArray);
  }
}

const run = promisify(execFile);

/** Processes whose command line names a file in `path`, as everything that a run starts does. */
async function processesOf(path: string): Promise<readonly number[]> {
  const { stdout } = await run("ps", ["-A", "-ww", "-o", "pid=,args="], { maxBuffer: 64 * 1024 * 1024 });
  return stdout
    .split("\n")
    .filter((line) => line.includes(path))
    .map((line) => Number.parseInt(line, 10));
}

const VERIFIED = "Every step was verified, on the API server and on the platform.";

it("--approve --exit plays the story, verifies each step, and leaves nothing running", async () => {
  const start = new Run(["--approve", "--exit"]);
  expect(await start.ended, start.out).toBe(0);
  expect(start.out).toContain(VERIFIED);
  for (const told of [
    /agent +shows the deployment in the cluster; the platform learns only that it waits for the customer/,
    /kubectl patch manageddeployments\.sallyport\.dev dep-.* -p '\{"spec":\{"acceptedNamespaces":\["shop"\]\}\}'/,
    /approver +robin@customer\.example accepts it for namespace shop, and no other/,
    /platform +has the deployment running, and its workload's health/,
    /engineer +invokes kubernetes\/scale, web to 5: the policy says manual/,
    /engineer +runs kubernetes\/get-pods while it waits: 3 pods; no approval needed/,
    /approver +robin@customer\.example approves/,
    /audit log: the scale changed once, by grant-[0-9a-f]{12}/,
    /platform +has the decision: robin@customer\.example \(verified\)/,
  ]) {
    expect(start.out).toMatch(told);
  }
  expect(await processesOf(folder)).toEqual([]);
});

it("the lines it prints work in another terminal as they are, and Ctrl-C afterwards is a success", async () => {
  const start = new Run([]);
  const [, line = ""] = await start.says(/^ +(kubectl patch accessgrants.*)$/m);
  const [, exported = ""] = await start.says(/^ +(export KUBECONFIG=.*)$/m);
  await run("sh", ["-c", `${exported}; ${line}`]);
  await start.says(new RegExp(VERIFIED));
  expect(start.out).toMatch(/approver +robin@customer\.example approves for 60 minutes/);
  await start.says(/ +curl .*\/v1\/commands$/m);
  const lookAround = start.out.slice(start.out.indexOf("It stays up until Ctrl-C"));
  const lines = [...lookAround.matchAll(/^ +((?:kubectl|curl) .*)$/gm)];
  expect(lines).toHaveLength(5);
  for (const [, each = ""] of lines) {
    const { stdout, stderr } = await run("sh", ["-c", `${exported}; ${each}`]);
    expect(stdout, `${each}\n${stderr}`).toMatch(/^(NAME|Name:|\{"items":\[\{)/m);
  }
  start.kill("SIGINT");
  expect(await start.ended, start.out).toBe(0);
  expect(await processesOf(folder)).toEqual([]);
});

fullOnly("says so when the customer denies, and that nothing ran", async () => {
  const start = new Run(["--exit"]);
  const [, line = ""] = await start.says(/^ +(kubectl patch accessgrants.*)$/m);
  const [, exported = ""] = await start.says(/^ +(export KUBECONFIG=.*)$/m);
  const spec = { deniedReason: "not today", ...(!has("stamping") && { decidedBy: "robin@customer.example" }) };
  const denial = line.replace(/-p '.*'/, `-p '${JSON.stringify({ spec })}'`);
  await run("sh", ["-c", `${exported}; ${denial}`]);
  expect(await start.ended, start.out).toBe(1);
  expect(start.out).toMatch(/approver +robin@customer\.example denies: not today/);
  expect(start.out).toMatch(/platform +has the decision: denied by robin@customer\.example; no command was made/);
});

fullOnly.each([
  ["while it starts", /Sallyport: a gate with two doors/],
  ["with the control plane up", /cluster +https:/],
  ["in the middle of the story", /engineer +raises access request/],
] as const)("Ctrl-C %s leaves no process behind", async (_when, moment) => {
  const start = new Run(["--approve", "--exit"]);
  await start.says(moment);
  start.kill("SIGINT");
  expect(await start.ended, start.out).toBe(130);
  expect(await processesOf(folder)).toEqual([]);
});

fullOnly("leaves no process behind when it is killed, and starts again in the same folder", async () => {
  const killed = new Run(["--approve"]);
  await killed.says(/engineer +raises access request/);
  killed.kill("SIGKILL");
  await killed.ended;
  await expect.poll(() => processesOf(folder), { timeout: 60_000 }).toEqual([]);
  const again = new Run(["--approve", "--exit"]);
  expect(await again.ended, again.out).toBe(0);
});

fullOnly("refuses a folder that another run uses", async () => {
  const first = new Run([]);
  await first.says(/cluster +https:/);
  const second = new Run([]);
  expect(await second.ended).toBe(1);
  expect(second.out).toMatch(/another `npm start` \(process \d+\) uses run/);
  first.kill("SIGINT");
  await first.ended;
});

describe.runIf(isFull)("in a cluster that was named", () => {
  const named = useCluster({ controllers: true, kwok: { nodes: 1 } });

  it("--kubeconfig plays the story in the cluster that was named, and says how to remove what it installed", async () => {
    const start = new Run([
      "--approve",
      "--exit",
      "--kubeconfig",
      named().kubeconfigFor({ user: "owner", groups: ["system:masters"] }),
    ]);
    expect(await start.ended, start.out).toBe(0);
    expect(start.out).toContain(named().server);
    expect(start.out).toContain("To remove what was installed: kubectl");
  });

  /** As before 1.36: the API server does not know the kind that stamps names. */
  const unable = useCluster({
    controllers: true,
    kwok: { nodes: 1 },
    ...(has("stamping") && {
      apiserverArgs: [
        "--runtime-config=admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false,admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings=false",
        "--disable-admission-plugins=MutatingAdmissionPolicy",
      ],
    }),
  });

  it("plays the story where names cannot be stamped: the approver types the own one, and it is checked", async () => {
    const kubeconfig = unable().kubeconfigFor({ user: "owner", groups: ["system:masters"] });
    const start = new Run(["--approve", "--exit", "--kubeconfig", kubeconfig]);
    expect(await start.ended, start.out).toBe(0);
    expect(start.out).toContain("This Kubernetes cannot stamp names");
    expect(start.out).toMatch(/kubectl patch accessgrants\.sallyport\.dev .*"decidedBy":"owner"\}\}'/);
    expect(start.out).toContain("has the decision: owner (verified)");
    const [, removal = ""] = /To remove what was installed: (kubectl .*get crd.*)/.exec(start.out) ?? [];
    const { stdout } = await run("sh", ["-c", `PATH=${join(folder, "run", "bin")}:$PATH; ${removal}`]);
    expect(stdout).toContain("sallyport-grant-decisions");
  });

  it("--kubeconfig touches no installation that it did not make", async () => {
    await named().kubectl([
      "delete",
      "configmap",
      "made-by-sallyport-dev",
      "-n",
      "sallyport-system",
      "--ignore-not-found",
    ]);
    const start = new Run(["--approve", "--exit", "--kubeconfig", named().adminKubeconfig]);
    expect(await start.ended).toBe(1);
    expect(start.out).toContain("is not touched");
  });
});
