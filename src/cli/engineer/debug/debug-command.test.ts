import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { request as secureRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type Clock, systemClock } from "../../../base/clock.ts";
import { scaledClock } from "../../../base/testing/scaled-clock.ts";
import { type ChainEnd, chainLine, chainStart } from "../../../debug-link/audit-chain.ts";
import { newSessionKey } from "../../../debug-link/session-key.ts";
import { newSite, type Site } from "../../../platform/areas/deployments/testing/site.ts";
import { json } from "../../../platform/database/json.ts";
import { until } from "../../../platform/relay/testing/peer.ts";
import { onEachDatabase, overSockets } from "../../../platform/testing/harness.ts";
import { runCli } from "../../run-cli.ts";
import { Stopped } from "../../stop-signals.ts";
import type { Surroundings } from "../calling.ts";
import { engineerCommands } from "../engineer-commands.ts";
import { farClusterOf } from "./testing/far-cluster.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-debug-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

interface Typed {
  readonly env?: Record<string, string>;
  readonly runShell?: NonNullable<Surroundings["runShell"]>;
  readonly signal?: AbortSignal;
  readonly onOut?: (said: string) => void;
  readonly onError?: (said: string) => void;
  readonly isTTY?: boolean;
  readonly clock?: Clock;
}

async function type(words: readonly string[], typed: Typed = {}) {
  const said = { out: "", error: "" };
  const out = (more: string): void => {
    said.out += more;
    typed.onOut?.(said.out);
  };
  const error = (more: string): void => {
    said.error += more;
    typed.onError?.(said.error);
  };
  const surroundings: Surroundings = {
    env: { XDG_CONFIG_HOME: folder, ...typed.env },
    clock: typed.clock ?? systemClock,
    ...{ out, error, isTTY: typed.isTTY ?? false },
    readInput: async () => "",
    askSecret: undefined,
    openBrowser: undefined,
    ...(typed.runShell && { runShell: typed.runShell }),
  };
  const command = await engineerCommands(surroundings, []).find("debug");
  if (command === undefined) throw new Error("there is no such command");
  const named = [{ ...command, name: "debug" }];
  const code = await runCli(named, ["debug", ...words], { out, error }, typed.signal ?? new AbortController().signal);
  return { code, ...said };
}

/** kubectl, as far as it reads a kubeconfig. */
async function kubectl(path: string, file: string): Promise<string> {
  const config = parse(await readFile(file, "utf8"));
  const [{ cluster }] = config.clusters;
  const request = secureRequest(`${cluster.server}${path}`, {
    ca: Buffer.from(cluster["certificate-authority-data"], "base64"),
    agent: false,
    headers: { authorization: `Bearer ${config.users[0].user.token}` },
  });
  request.end();
  const [response] = await once(request, "response");
  return `${response.statusCode} ${config.contexts[0].context.namespace} ${await text(response)}`;
}

const REASON = ["--reason", "the api does not answer"];
const left = async (): Promise<readonly string[]> => (await readdir(join(folder, "sallyport", "debug"))).sort();

onEachDatabase("sallyport debug", (within) => {
  const world = overSockets(within);
  const envOf = (site: Site) => ({ SALLYPORT_URL: world.platform.url, SALLYPORT_KEY: site.admin });

  const cluster = farClusterOf(world);

  async function newPlace() {
    const site = await newSite(world);
    const deployment = await site.deploy("shop");
    return { site, deployment, env: envOf(site) };
  }

  it("opens a session with a shell whose kubectl is in the cluster, and leaves nothing", async () => {
    const { site, deployment, env } = await newPlace();
    const far = await cluster(site);
    let answer = "";
    let modes: readonly number[] = [];
    const opened = await type(["open", deployment, "-n", "web", "--mode", "read", "--auto", ...REASON], {
      env,
      runShell: async ({ KUBECONFIG = "" }) => {
        answer = await kubectl("/api/v1/namespaces/web/pods", KUBECONFIG);
        modes = [(await stat(KUBECONFIG)).mode & 0o777, (await stat(join(KUBECONFIG, ".."))).mode & 0o777];
      },
    });
    expect(opened, opened.error).toMatchObject({ code: 0, out: "" });
    expect(answer).toBe("200 web pods");
    expect(modes).toEqual([0o600, 0o700]);
    expect(opened.error).toMatch(
      /dbg_\w+: attached, until .*\n {2}may: {9}read in namespace web\n {2}approved by: nobody/,
    );
    expect(opened.error).toContain("ended (client)");
    expect(await far.served).toBe("client");
    expect(far.seen).toEqual(["/api/v1/namespaces/web/pods"]);
    expect(await left()).toEqual([]);
    const { items } = (await site.call("GET", "/v1/debug-sessions")).body;
    expect(far.pins).toEqual([items[0].access.clientKey]);
    await until(world, site, items[0].id, "stopped");
    const status = await type(["status", items[0].id, "-o", "json"], { env });
    expect(JSON.parse(status.out)).toMatchObject({ mode: "read", namespace: "web", closeReason: "client" });
  });

  it("refuses a tunnel with another key than the record's, and ends the session", async () => {
    const { site, deployment, env } = await newPlace();
    const far = await cluster(site, newSessionKey("impostor", new Date()), newSessionKey("tunnel", new Date()).pin);
    const opened = await type(["open", deployment, "-n", "web", "--mode", "read", "--auto", ...REASON], {
      env,
      runShell: () => Promise.reject(new Error("there must be no shell")),
    });
    expect(opened).toMatchObject({ code: 8, error: expect.stringContaining("ended (pin-mismatch)") });
    expect(opened.error).not.toContain("attached");
    await far.served;
    expect(await left()).toEqual([]);
  });

  it("prints the kubeconfig's path and serves until it is stopped", async () => {
    const { site, deployment, env } = await newPlace();
    const far = await cluster(site);
    const stop = new AbortController();
    let answer = "";
    const opened = await type(
      ["open", deployment, "-n", "web", "--mode", "logs", "--auto", "--print-kubeconfig", ...REASON],
      {
        env,
        signal: stop.signal,
        onOut: (said) => {
          void kubectl("/api", said.trim()).then((found) => {
            answer = found;
            stop.abort(new Stopped("SIGTERM"));
          });
        },
      },
    );
    expect(opened.code).toBe(143);
    expect(answer).toBe("200 web pods");
    expect(await far.served).toBe("client");
    expect(await left()).toEqual([]);
  });

  it("connects again after a loss, and says so", async () => {
    const { site, deployment, env } = await newPlace();
    const far = await cluster(site);
    const again = Promise.withResolvers<void>();
    let answer = "";
    const opened = await type(["open", deployment, "-n", "web", "--mode", "read", "--auto", ...REASON], {
      env,
      onError: (said) => {
        if (said.includes("connected again; what was open was reset")) again.resolve();
      },
      runShell: async ({ KUBECONFIG = "" }) => {
        far.lose();
        await again.promise;
        answer = await kubectl("/api", KUBECONFIG);
      },
    });
    expect(opened.code, opened.error).toBe(0);
    expect(answer).toBe("200 web pods");
    expect(opened.error).toMatch(/: (the other side was lost|the other side has come back)/);
  });

  it("ends when the platform's switch does, and says so", async () => {
    const { site, deployment, env } = await newPlace();
    const far = await cluster(site);
    const hungUp = Promise.withResolvers<void>();
    const opened = await type(["open", deployment, "-n", "web", "--mode", "read", "--auto", ...REASON], {
      env,
      runShell: async ({ SALLYPORT_DEBUG_SESSION = "" }, signal) => {
        signal.addEventListener("abort", () => hungUp.resolve(), { once: true });
        expect((await type(["stop", SALLYPORT_DEBUG_SESSION], { env })).code).toBe(0);
        await hungUp.promise;
      },
    });
    expect(opened).toMatchObject({ code: 8, error: expect.stringContaining("ended (killed)") });
    await far.served;
  });

  it("a session that ended while the laptop slept is told by its end, and its key is removed", async () => {
    const { site, deployment, env } = await newPlace();
    const far = await cluster(site);
    let [path, kept, id] = ["", "", ""];
    await type(["open", deployment, "-n", "web", "--mode", "read", "--auto", ...REASON], {
      env,
      runShell: async ({ SALLYPORT_DEBUG_SESSION = "" }) => {
        id = SALLYPORT_DEBUG_SESSION;
        path = join(folder, "sallyport", "debug", `${id}.json`);
        kept = await readFile(path, "utf8");
        expect((await type(["stop", id], { env })).code).toBe(0);
      },
    });
    await far.served;
    await until(world, site, id, "stopped");
    await writeFile(path, kept, { mode: 0o600 });
    const attached = await type(["attach", id, "--print-kubeconfig"], { env });
    expect(attached).toMatchObject({ code: 8, out: "", error: expect.stringContaining("ended (killed)") });
    expect(attached.error).not.toContain("INVALID_STATE_TRANSITION");
    expect(await left()).toEqual([]);
  });

  it("one that another replaces gives way, says so and leaves the session", async () => {
    const { site, deployment, env } = await newPlace();
    const far = await cluster(site);
    const hungUp = Promise.withResolvers<void>();
    let second: Promise<{ readonly code: number; readonly error: string }> | undefined;
    const first = await type(["open", deployment, "-n", "web", "--mode", "read", "--auto", ...REASON], {
      env,
      runShell: async ({ SALLYPORT_DEBUG_SESSION = "" }, signal) => {
        signal.addEventListener("abort", () => hungUp.resolve(), { once: true });
        second = type(["attach", SALLYPORT_DEBUG_SESSION], { env, runShell: () => hungUp.promise });
        await hungUp.promise;
      },
    });
    expect(first).toMatchObject({ code: 6, error: expect.stringContaining("another attached meanwhile") });
    expect(await second).toMatchObject({ code: 0, error: expect.stringContaining("attached, until") });
    expect(await far.served).toBe("client");
  });

  it("a tunnel with another key than the first is met only by the customer's word", async () => {
    const { site, deployment, env } = await newPlace();
    const [one, other] = [newSessionKey("tunnel", new Date()), newSessionKey("tunnel", new Date())];
    const gaveWay = expect((await cluster(site, one)).served).rejects.toThrow("in place of this one");
    const hungUp = Promise.withResolvers<void>();
    let id = "";
    const opened = await type(["open", deployment, "-n", "web", "--mode", "read", "--auto", ...REASON], {
      env,
      runShell: async ({ SALLYPORT_DEBUG_SESSION = "" }, signal) => {
        id = SALLYPORT_DEBUG_SESSION;
        signal.addEventListener("abort", () => hungUp.resolve(), { once: true });
        void cluster(site, other, other.pin, id);
        await hungUp.promise;
      },
    });
    expect(opened.code, opened.error).toBe(6);
    expect(opened.error).toContain(`tunnel key:  ${one.pin}`);
    expect(opened.error).toContain(`another key than at first`);
    expect(opened.error).toContain("-o jsonpath={.status.tunnel.key}");
    expect(opened.error).not.toContain("connected again");
    await gaveWay;
    // The session is there still; the key of the first is no word for the second.
    const attach = (key: readonly string[]) => type(["attach", id, ...key], { env, runShell: async () => undefined });
    expect((await attach([])).code).toBe(6);
    expect((await attach([`--accept-new-tunnel=${one.pin}`])).code).toBe(6);
    const accepted = await attach([`--accept-new-tunnel=${other.pin}`]);
    expect(accepted.code, accepted.error).toBe(0);
    expect(accepted.error).toContain(`tunnel key:  ${other.pin}`);
  });

  it("asks the customer with the key in the plan, and goes on with the same key later", async () => {
    const { site, deployment, env } = await newPlace();
    const words = ["open", deployment, "-n", "web", "--mode", "port-forward", "--port", "8080", "--port", "9090"];
    const asked = await type([...words, "--minutes", "30", "--selector", "app=api", ...REASON], {
      env,
      clock: scaledClock(100),
    });
    expect(asked.code, asked.error).toBe(0);
    const id = /sallyport debug open --request (ar_\w+)\n/.exec(asked.out)?.[1] ?? "";
    const request = (await site.call("GET", `/v1/access-requests/${id}`)).body;
    expect(request).toMatchObject({
      ...{ debug: true, status: "queued", maxMinutes: 30, reason: "the api does not answer" },
      commands: [
        {
          command: "debug/port-forward",
          params: { namespace: "web", mode: "port-forward", ports: [8080, 9090], selector: "app=api" },
        },
      ],
    });
    const [file = ""] = await left();
    expect(file).toBe(`${id}.json`);
    const path = join(folder, "sallyport", "debug", file);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const kept = JSON.parse(await readFile(path, "utf8"));
    expect(kept.key.pin).toBe(request.commands[0].params.clientKey);
    expect(asked.error).toContain(`compare with clientKey: ${kept.key.pin}\n`);
    expect(asked.out + asked.error).not.toContain(kept.key.key.slice(40, 80));
    await site.call("POST", `/v1/access-requests/${id}/reject`, { body: { reason: "not now" } });
    const went = await type(["open", "--request", id, "--print-kubeconfig"], { env });
    expect(went).toMatchObject({ code: 8, error: expect.stringContaining("is rejected") });
    expect(went.error).toContain(": not now\n");
    expect(await left()).toEqual([]);
  });

  it("says which modes are on, and keeps the key of an approval that the cluster refused a session under", async () => {
    const { site, deployment, env } = await newPlace();
    const tell = async (state: "granted" | "denied", detail: string) =>
      world.platform.db
        .updateTable("deployments")
        .set({ capabilities: json([{ key: "debug", state, detail }]) })
        .where("id", "=", deployment)
        .execute();
    const words = ["open", deployment, "-n", "web", "--mode", "exec", ...REASON];
    const ask = async () => type(words, { env, clock: scaledClock(100) });
    await tell("granted", "modes: logs, exec");
    expect((await ask()).error).not.toContain("does not open");
    await tell("denied", "debug sessions are off");
    expect((await ask()).error).toContain("does not open exec now (debug denied, debug sessions are off)");
    await tell("granted", "modes: logs, read");
    const asked = await ask();
    expect(asked.error).toContain("does not open exec now (debug granted, modes: logs, read)");
    const id = /--request (ar_\w+)\n/.exec(asked.out)?.[1] ?? "";
    const post = async (path: string, body: object) => {
      const { status } = await site.call("POST", path, { key: site.manager.key, body });
      expect(status).toBeLessThan(300);
    };
    const own = { deploymentId: deployment, namespace: "sallyport-grants", resourcePlural: "accessgrants" };
    await post("/v1/access-requests/materialized", { ...own, requestIds: [id] });
    const { planHash } = (await site.call("GET", `/v1/access-requests/${id}`)).body;
    const now = world.clock.wallNow().getTime();
    const [approvedAt, approvedUntil] = [new Date(now).toISOString(), new Date(now + 600_000).toISOString()];
    const approval = { requestId: id, planHash, approvedAt, approvedUntil, decidedBy: "alice", identity: "verified" };
    await post("/v1/access-requests/approvals", { deploymentId: deployment, approvals: [approval] });
    const refused = (code: string) => ({
      ...{ state: "failed", closeReason: "refused" },
      error: { code, message: "mode exec is switched off here", internal: false },
    });
    const endedBy = async (bodies: readonly object[]): Promise<string> => {
      const opened = await type(["open", "--request", id, "--print-kubeconfig"], {
        env,
        onError: (said) => {
          const waits = /(dbg_\w+): waits for/.exec(said)?.[1];
          if (waits === undefined || said.includes("ended")) return;
          void (async () => {
            for (const body of bodies)
              await site.call("PATCH", `/v1/debug-sessions/${waits}`, { key: site.manager.key, body });
          })();
        },
      });
      expect(opened.code, opened.error).toBe(8);
      return opened.error.slice(opened.error.search(/dbg_\w+: ended/)).replace(/^dbg_\w+/, "dbg_…");
    };
    const why = "ended (refused): mode exec is switched off here\n";
    expect(await endedBy([refused("MODE_DISABLED")])).toBe(
      `dbg_…: ${why}the approval is not used up; while it holds: sallyport debug open --request ${id}\n`,
    );
    // The operator claims the approval before it opens a session.
    expect(await endedBy([refused("LINE_USED")])).toBe(`dbg_…: ${why}`);
    const closed = (closeReason: string) => ["stopping", "stopped"].map((state) => ({ state, closeReason }));
    expect(await endedBy(closed("audit-failed"))).toBe("dbg_…: ended (audit-failed)\n");
    expect(await endedBy(closed("refused"))).toBe("dbg_…: ended (refused)\n");
    expect(await left()).toContain(`${id}.json`);
    expect((await left()).filter((file) => file.startsWith("dbg_"))).toEqual([]);
  });
});

describe("sallyport debug, typed wrongly", () => {
  const dep = `dep_${"a".repeat(28)}`;
  it.each([
    [["open"], "must be given"],
    [["open", dep, "-n", "web", "--mode", "root", ...REASON], "--mode is one of"],
    [["open", dep, "-n", "web", "--mode", "exec", "--reason", "short"], "ten characters"],
    [["open", dep, "-n", "web", "--mode", "exec", "--minutes", "0", ...REASON], "--minutes"],
    [["open", dep, "-n", "web", "--mode", "exec", "--minutes", "1e2", ...REASON], "--minutes"],
    [["open", dep, "-n", "web", "--mode", "port-forward", "--port", "70000", ...REASON], "--port"],
    [["open", dep, "-n", "web", "--mode", "read", "--auto", ...REASON], "no terminal"],
    [["open", dep, "-n", "web", "--mode", "logs", "--port", "80", ...REASON], "--port is for --mode port-forward"],
    [["open", "shop-eu", "-n", "web", "--mode", "logs", ...REASON], "sallyport deployments list"],
    [["open", "--request", "ar_x", "--auto"], "exclude"],
    [["open", "--request", "../../etc/passwd", "--print-kubeconfig"], "ar_…"],
    [["attach", "../x", "--print-kubeconfig"], "dbg_…"],
    [["attach", `dbg_${"a".repeat(28)}`, "--accept-new-tunnel", "short"], "43 characters"],
    // A key may begin like an option, which is why every page writes the `=`.
    [
      ["attach", `dbg_${"a".repeat(28)}`, "--accept-new-tunnel", `-${"a".repeat(42)}`],
      "use '--accept-new-tunnel=-XYZ'",
    ],
    [["attach", `dbg_${"a".repeat(28)}`, `--accept-new-tunnel=-${"a".repeat(42)}`], "no terminal"],
    [["stop"], "dbg_…"],
    [["status", "a", "b"], "too many words"],
    [["verify"], "usage"],
    [["verify", "f", "--head", "xyz"], "64"],
    [["open", "--nonsense"], "nonsense"],
  ])("%j", async (words, error) => {
    expect(await type(words)).toMatchObject({ code: 2, error: expect.stringContaining(error) });
  });

  it("a session of another machine cannot be attached", async () => {
    const attached = await type(["attach", `dbg_${"a".repeat(28)}`, "--print-kubeconfig"]);
    expect(attached).toMatchObject({ code: 1, error: expect.stringContaining("is not on this machine") });
  });

  it.each(["", "open", "attach", "status", "stop", "audit", "recording", "verify"])(
    "debug %s has a help",
    async (verb) => {
      const shown = await type([...(verb === "" ? [] : [verb]), "--help"]);
      expect(shown).toMatchObject({
        code: 0,
        out: expect.stringMatching(new RegExp(`^usage: [^]*sallyport debug ${verb}`)),
      });
    },
  );
});

describe("sallyport debug verify", () => {
  async function file(change: (lines: string[]) => void = () => undefined) {
    let end: ChainEnd = chainStart("uid", { mode: "read" });
    const lines: string[] = [];
    const heads: string[] = [];
    const add = (kind: "open" | "request" | "close", fields: object): void => {
      const next = chainLine(end, new Date(0), kind, { ...fields });
      lines.push(next.line);
      end = next.end;
      heads.push(end.head);
    };
    add("open", { uid: "uid", spec: { mode: "read" } });
    add("request", { name: "api" });
    add("close", { reason: "client" });
    const { head } = end;
    change(lines);
    const path = join(folder, "audit.jsonl");
    await writeFile(path, lines.map((line) => `${line}\n`).join(""));
    return { path, head, heads };
  }

  it("a file that goes on after the head is longer than what was told, which is neither whole nor damaged", async () => {
    const { path, heads } = await file();
    const said = await type(["verify", path, "--head", heads[1] ?? ""]);
    expect(said).toMatchObject({ code: 12, out: expect.stringContaining("1 of its 3 records come after\n") });
    const { path: open } = await file((lines) => lines.splice(2));
    expect(await type(["verify", open, "--head", heads[0] ?? ""])).toMatchObject({
      code: 12,
      out: expect.stringContaining("1 of its 2 records come after, and the record of the session's end is missing\n"),
    });
    const { path: edited } = await file((lines) => lines.splice(2, 1, "{}"));
    expect((await type(["verify", edited, "--head", heads[0] ?? ""])).code).toBe(11);
  });

  it("a whole file is whole, by its head as well", async () => {
    const { path, head } = await file();
    expect(await type(["verify", path])).toMatchObject({ code: 0, out: expect.stringContaining(head) });
    expect((await type(["verify", path, "--head", head])).code).toBe(0);
    expect((await type(["verify", path, "--head", "0".repeat(64)])).code).toBe(11);
  });

  it.each<[string, (lines: string[]) => void, string]>([
    ["an edit", (lines) => lines.splice(1, 1, (lines[1] ?? "").replace("api", "web")), "line 3 does not follow"],
    ["a gap", (lines) => lines.splice(1, 1), "line 2 has number 2"],
    ["a cut", (lines) => lines.splice(2), "the session's end is missing"],
    ["an empty file", (lines) => lines.splice(0), "no record"],
    ["control characters", (lines) => lines.splice(1, 1, "\u001b[2Jx"), "line 2"],
  ])("%s is found, with its place", async (_, change, words) => {
    const { path } = await file(change);
    const said = await type(["verify", path]);
    expect(said).toMatchObject({ code: 11, out: expect.stringContaining(words) });
    expect(said.out).not.toContain("\u001b");
  });

  it("a file that is not there is no damage", async () => {
    expect(await type(["verify", join(folder, "none")])).toMatchObject({ code: 1 });
  });
});
