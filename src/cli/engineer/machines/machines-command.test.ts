import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { scaledClock } from "../../../base/testing/scaled-clock.ts";
import { readJoinString } from "../../../contract/machines/join-string.ts";
import { newSite, type Site } from "../../../platform/areas/deployments/testing/site.ts";
import { onEachDatabase } from "../../../platform/testing/harness.ts";
import { runCli } from "../../run-cli.ts";
import type { Surroundings } from "../calling.ts";
import { engineerCommands } from "../engineer-commands.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-machines-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const PIN = `sha256//${"A".repeat(43)}=`;
const URL = "https://join.customer.example:8443";
const LINE = `curl -fsS --pinnedpubkey '${PIN}' -k '${URL}/v1/script' | sudo sh -s -- --token-file ./join\n`;

interface Typed {
  readonly env?: Record<string, string>;
  readonly input?: string;
  /** After each text on standard error. */
  readonly onError?: (said: string) => void;
}

async function type(words: readonly string[], { env = {}, input = "", onError }: Typed = {}) {
  const said = { out: "", error: "" };
  const out = (more: string): void => {
    said.out += more;
  };
  const error = (more: string): void => {
    said.error += more;
    onError?.(said.error);
  };
  const surroundings: Surroundings = {
    env: { XDG_CONFIG_HOME: folder, ...env },
    clock: scaledClock(50),
    ...{ out, error, isTTY: false },
    readInput: async () => input,
    askSecret: undefined,
    openBrowser: undefined,
  };
  const command = await engineerCommands(surroundings, []).find("machine");
  if (command === undefined) throw new Error("there is no such command");
  const named = [{ ...command, name: "machines" }];
  const code = await runCli(named, ["machines", ...words], { out, error }, new AbortController().signal);
  return { code, ...said };
}

onEachDatabase("sallyport machines", (world) => {
  async function newFleet() {
    const site = await newSite(world);
    const id = await site.deploy("fleet");
    expect((await site.report(id, "running", { capabilities: [{ key: "machines", state: "granted" }] })).status).toBe(
      200,
    );
    const env = { SALLYPORT_URL: world.platform.url, SALLYPORT_KEY: site.admin };
    return { site, id, env, path: `/v1/machines/deployments/${id}` };
  }
  type Fleet = Awaited<ReturnType<typeof newFleet>>;
  const serve = ({ site, path }: Fleet) =>
    world.call("PUT", `${path}/join-server`, { key: site.manager.key, body: { url: URL, pins: [PIN] } });
  const tell = async ({ site, path }: Fleet, status: string, more: object = {}): Promise<void> => {
    const at = world.clock.wallNow().toISOString();
    const capacity = { allocated: 0, systemReserve: 0, total: 1 };
    const machine = {
      ...{ machineId: "m-1", status, capacityGroup: "default", zone: "a", cpu: capacity, memory: capacity },
      ...{ drainBlockers: [], localOverrides: [], lastHeartbeat: at, replicaCount: 3, ...more },
    };
    const body = { observedAt: at, complete: true, machines: status === "gone" ? [] : [machine] };
    const answer = await world.call("POST", `${path}/inventory`, { key: site.manager.key, body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  };
  const tokens = async ({ site, path }: Fleet) => (await site.call("GET", `${path}/join-tokens`)).body.tokens;
  /** Runs `steps` one after another, each once its text was printed. */
  const script = (steps: readonly (readonly [string, () => Promise<unknown>])[]): ((said: string) => void) => {
    let at = 0;
    return (said) => {
      const [text, act] = steps[at] ?? [];
      if (text === undefined || !said.includes(text)) return;
      at += 1;
      void act?.();
    };
  };

  describe("token create", () => {
    it("writes the secret to a file for its owner alone, and prints a line without it", async () => {
      const fleet = await newFleet();
      await serve(fleet);
      const file = join(folder, "join");
      const made = await type(["token", "create", fleet.id, "--out", file, "--max-joins", "3"], fleet);
      expect(made, made.error).toMatchObject({ code: 0, out: LINE });
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      const secret = (await readFile(file, "utf8")).trim();
      const fields = readJoinString(secret);
      expect(fields).toMatchObject({ url: URL, pin: PIN });
      for (const hidden of [secret, fields?.token ?? "", fields?.token.slice(-32) ?? ""]) {
        expect(made.out + made.error).not.toContain(hidden);
      }
      expect(made.error).toContain("for 3 machines, until ");
      expect(made.error).toContain("kubectl get mpool -n sallyport-grants -o wide");
      const again = await type(["token", "create", fleet.id, "--out", file], fleet);
      expect([again.code, again.error]).toEqual([1, expect.stringContaining(`${file} exists`)]);
      expect((await readFile(file, "utf8")).trim()).toBe(secret);
      expect(await tokens(fleet)).toHaveLength(1);
      const printed = await type(["join", file], { input: "" });
      expect(printed, printed.error).toMatchObject({ code: 0, out: LINE });
      expect(printed.error).not.toContain(secret);
    });

    it("prints the secret only when asked to, alone on standard output", async () => {
      const fleet = await newFleet();
      await serve(fleet);
      for (const flags of [[], ["--out", join(folder, "join"), "--print"]]) {
        const unsaid = await type(["token", "create", fleet.id, ...flags], fleet);
        expect([unsaid.code, unsaid.out]).toEqual([2, ""]);
        expect(unsaid.error).toContain("where the join string goes: --out FILE, or --print");
      }
      expect(await tokens(fleet)).toEqual([]);
      const made = await type(["token", "create", fleet.id, "--print", "--expires", "10m"], fleet);
      expect(readJoinString(made.out.trim())).toMatchObject({ url: URL });
      expect(made.error).toContain(LINE);
      expect((await type(["join", "-"], { input: made.out })).out).toBe(LINE);
      const json = await type(["token", "rotate", fleet.id, "--print", "-o", "json", "--grace", "0"], fleet);
      const answer = JSON.parse(json.out);
      expect(answer).toMatchObject({ pin: PIN, line: LINE.trim(), maxJoins: 10 });
      expect(readJoinString(answer.joinString)).toBeDefined();
      const listed = await type(["token", "list", fleet.id, "-o", "json"], fleet);
      const [newest, oldest] = JSON.parse(listed.out);
      expect([newest.id, newest.revokedAt, oldest.revokedAt === null]).toEqual([answer.id, null, false]);
      expect((await type(["token", "revoke", fleet.id, newest.id], fleet)).code).toBe(0);
      expect((await tokens(fleet))[0].revokedAt).not.toBeNull();
    });

    it("leaves no file when there is no join server, and says what is missing", async () => {
      const fleet = await newFleet();
      const refused = await type(["token", "create", fleet.id, "--out", join(folder, "join")], fleet);
      expect(refused.code).toBe(7);
      expect(refused.error).toContain("no join server of the cluster has said where machines can knock");
      expect(await readdir(folder)).toEqual([]);
    });
  });

  it("join refuses what is none, and what is over", async () => {
    const file = join(folder, "join");
    await writeFile(file, "spj1_secret");
    const none = await type(["join", file]);
    expect([none.code, none.out, none.error.includes("secret")]).toEqual([1, "", false]);
    expect((await type(["join", join(folder, "nothing")])).error).toContain("cannot be read");
    expect((await type(["join"])).code).toBe(2);
  });

  it("list says what holds each machine up, and where new ones join", async () => {
    const fleet = await newFleet();
    await tell(fleet, "ready", { drainBlockers: [{ reason: "terminating" }], joinState: "joined" });
    const before = await type(["list", fleet.id], fleet);
    expect(before.out).toMatch(/^ID +STATUS .*\nm-1 +ready .* terminating:1\n/);
    expect(before.out).toContain("no join server: no machine can join");
    await serve(fleet);
    expect((await type(["list", fleet.id], fleet)).out).toContain(`machines join at ${URL}, key ${PIN}`);
    const { machines, joinServer } = JSON.parse((await type(["list", fleet.id, "-o", "json"], fleet)).out);
    expect([machines[0].machineId, joinServer.url]).toEqual(["m-1", URL]);
  });

  it("drain --watch tells each change once, until the machine is empty", async () => {
    const fleet = await newFleet();
    await tell(fleet, "ready");
    const drainBlockers = [
      {
        reason: "pod-disruption-budget",
        workloadName: "shop/api",
        message: "scale deployment/api to 3",
        state: "blocked",
      },
    ];
    const onError = script([
      ["m-1 is draining", () => tell(fleet, "draining", { drainBlockers })],
      ["scale deployment/api to 3", () => tell(fleet, "draining")],
      ["over: pod-disruption-budget shop/api", () => tell(fleet, "drained")],
    ]);
    const drained = await type(["drain", fleet.id, "m-1", "--deadline", "1h", "--watch"], { ...fleet, onError });
    expect(drained.code, drained.error).toBe(0);
    expect(drained.error.split("\n").filter((line) => line.includes("scale deployment/api"))).toHaveLength(1);
    expect(drained.error.trim().split("\n").at(-1)).toBe("m-1 is drained");
    expect(drained.out).toMatch(/status +drained/);
    const { machines } = (await fleet.site.call("GET", `${fleet.path}/inventory`)).body;
    expect(machines[0].drainDeadlineAt).not.toBeNull();
    const cancelled = await type(["cancel", fleet.id, "m-1", "-o", "json"], fleet);
    expect(JSON.parse(cancelled.out)).toEqual({ machineId: "m-1", cancelled: true });
  });

  it("drain --watch ends with 8 when another cancels it, and with 9 at its --timeout", async () => {
    const fleet = await newFleet();
    await tell(fleet, "ready");
    const cancel = () => fleet.site.call("DELETE", `${fleet.path}/machines/m-1/drain`);
    const onError = script([["m-1 is draining", cancel]]);
    const over = await type(["drain", fleet.id, "m-1", "--watch"], { ...fleet, onError });
    expect([over.code, over.error]).toEqual([8, expect.stringContaining("the drain of m-1 was cancelled")]);
    const late = await type(["drain", fleet.id, "m-1", "--watch", "--timeout", "5s", "--deadline", "0"], fleet);
    expect([late.code, late.error]).toEqual([9, expect.stringContaining("m-1 is still draining: the wish stays")]);
  });

  it.each(["drain", "remove"])(
    "%s --watch ends with 8 when the customer cancels it, and list says so",
    async (verb) => {
      const fleet = await newFleet();
      await tell(fleet, "ready");
      if (verb === "remove") {
        await type(["drain", fleet.id, "m-1"], fleet);
        await tell(fleet, "drained");
      }
      const revision = verb === "drain" ? 1 : 2;
      const deleted = () => tell(fleet, "ready", { wish: { revision, state: "deleted" } });
      const onError = script([[`m-1 is ${verb === "drain" ? "draining" : "terminating"}`, deleted]]);
      const over = await type([verb, fleet.id, "m-1", "--watch"], { ...fleet, onError });
      const what = verb === "drain" ? "drain" : "removal";
      expect([over.code, over.error]).toEqual([
        8,
        expect.stringContaining(`the ${what} of m-1 was cancelled by the customer`),
      ]);
      expect(over.error).toMatch(/ {2}cancelled by the customer at .*Z: ask them, then ask for it again/);
      expect((await type(["list", fleet.id], fleet)).out).toContain("CancelledByCustomer");
    },
  );

  it("--reason asks the customer with a line for that machine, and a no ends the watch with 8", async () => {
    const fleet = await newFleet();
    await tell(fleet, "ready");
    const requests = async (site: Site) => (await site.call("GET", "/v1/access-requests")).body.items;
    const short = await type(["drain", fleet.id, "m-1", "--reason", "disk"], fleet);
    expect([short.code, await requests(fleet.site)]).toEqual([2, []]);
    const reject = async () => {
      const [{ id }] = await requests(fleet.site);
      await fleet.site.call("POST", `/v1/access-requests/${id}/reject`);
    };
    const onError = script([["m-1 is draining", reject]]);
    const words = ["drain", fleet.id, "m-1", "--watch", "--reason", "its disk fails soon"];
    const refused = await type(words, { ...fleet, onError });
    expect([refused.code, refused.error]).toEqual([8, expect.stringContaining("the customer said no")]);
    expect(await requests(fleet.site)).toMatchObject([
      { commands: [{ command: "machines/drain", params: { machineId: "m-1" } }], reason: "its disk fails soon" },
    ]);
  });

  it("remove --watch ends once the machine is gone", async () => {
    const fleet = await newFleet();
    await tell(fleet, "ready");
    await fleet.site.call("POST", `${fleet.path}/machines/m-1/drain`);
    const early = await type(["remove", fleet.id, "m-1"], fleet);
    expect([early.code, early.error]).toEqual([6, expect.stringContaining("MACHINE_NOT_DRAINED")]);
    await tell(fleet, "drained");
    const onError = script([["m-1 is terminating", () => tell(fleet, "gone")]]);
    const removed = await type(["remove", fleet.id, "m-1", "--watch", "-o", "json"], { ...fleet, onError });
    expect(removed.code, removed.error).toBe(0);
    expect(JSON.parse(removed.out)).toEqual({ machineId: "m-1", status: "removed" });
  });

  it.each([
    ["list"],
    ["token create"],
    ["token rotate"],
    ["token list"],
    ["token revoke"],
    ["drain"],
    ["cancel"],
    ["remove"],
    ["join"],
  ])("%s has a help of its own", async (verb) => {
    const help = await type([...verb.split(" "), "--help"]);
    expect(help.out).toMatch(new RegExp(`^usage: sallyport machines? ${verb}`));
    expect((await type(["--help"])).out).toContain(verb.split(" ")[0]);
  });

  it.each([
    [["drain", "dep_x"]],
    [["drain", "dep_x", "m-1", "more"]],
    [["drain", "dep_x", "m-1", "--nonesuch"]],
    [["drain", "dep_x", "m-1", "--deadline", "soon"]],
    [["token", "create", "dep_x", "--print", "--max-joins", "many"]],
    [["token", "create", "dep_x", "--print", "--expires", "5s"]],
  ])("%j is called wrongly", async (words) => {
    const env = { SALLYPORT_URL: world.platform.url, SALLYPORT_KEY: "none" };
    expect((await type(words, { env })).code).toBe(2);
  });
});
