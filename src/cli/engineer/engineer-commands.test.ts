import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Environment } from "../../base/settings.ts";
import { ROUTES } from "../../contract/table.ts";
import { newSite as newDeploymentSite } from "../../platform/areas/deployments/testing/site.ts";
import { newSite, type Site } from "../../platform/areas/operations/testing/site.ts";
import { json } from "../../platform/database/json.ts";
import { onEachDatabase, type World } from "../../platform/testing/harness.ts";
import { runCli } from "../run-cli.ts";
import { Stopped } from "../stop-signals.ts";
import type { Surroundings } from "./calling.ts";
import { completions } from "./completion.ts";
import { engineerCommands } from "./engineer-commands.ts";
import { areasOf } from "./verbs.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-cli-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Time passes as fast as the machine can: each wait is one turn of the event loop. */
function fastClock(): Surroundings["clock"] {
  let nowMs = 0;
  return {
    monotonicMs: () => nowMs,
    wallNow: () => new Date(),
    after(delayMs, task) {
      nowMs += delayMs;
      const turn = setImmediate(task);
      return () => clearImmediate(turn);
    },
  };
}

interface Typed {
  readonly env?: Environment;
  readonly input?: string;
  readonly signal?: AbortSignal;
  readonly onError?: (text: string) => void;
  readonly onOut?: (text: string) => void;
}

async function type(words: readonly string[], { env = {}, input = "", signal, onError, onOut }: Typed = {}) {
  const said = { out: "", error: "" };
  const out = (text: string): void => {
    said.out += text;
    onOut?.(text);
  };
  const error = (text: string): void => {
    said.error += text;
    onError?.(text);
  };
  const surroundings: Surroundings = {
    env: { XDG_CONFIG_HOME: folder, ...env },
    clock: fastClock(),
    out,
    error,
    isTTY: false,
    readInput: async () => input,
    askSecret: undefined,
    openBrowser: undefined,
  };
  const { find, listed } = engineerCommands(surroundings, ["platform"]);
  const named = words[0] === undefined ? undefined : await find(words[0]);
  const commands = named === undefined ? await listed() : [{ ...named, name: words[0] ?? "" }];
  const code = await runCli(commands, words, { out, error }, signal ?? new AbortController().signal);
  return { code, ...said };
}

const as = (world: World, key: string): Environment => ({ SALLYPORT_URL: world.platform.url, SALLYPORT_KEY: key });

onEachDatabase("the engineer's commands", (world) => {
  it("sign in once, and then need no key", async () => {
    const { name, key } = await world.workspace();
    const secret = await key("workspace.admin");
    const login = ["login", "--url", `${world.platform.url}/`, "--key", "--profile", "work"];
    const signedIn = await type(login, { input: `${secret}\n` });
    expect(signedIn).toMatchObject({ code: 0, error: "" });
    expect(signedIn.out).toContain(`as workspace.admin of workspace ${name}`);
    const file = join(folder, "sallyport", "profiles.json");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, "sallyport"))).mode & 0o777).toBe(0o700);
    expect(await readFile(file, "utf8")).toContain(secret);
    expect(JSON.parse((await type(["whoami", "-o", "json"])).out)).toMatchObject({ workspaceName: name });
    // As ssh does with a key.
    await chmod(file, 0o666);
    const exposed = await type(["whoami"]);
    expect(exposed).toMatchObject({ code: 1, out: "" });
    expect(exposed.error).toContain("open to other users (mode 0666), so it is not read: chmod 600");
    expect(exposed.error).not.toContain(secret);
    await chmod(file, 0o600);
    const listed = (await type(["profiles"])).out;
    expect(listed).toContain(`* work  ${world.platform.url}\n`);
    expect(listed).not.toContain(secret);
    const strayed = await type(["whoami"], { env: { SALLYPORT_URL: "https://elsewhere.example.com" } });
    expect(strayed).toMatchObject({ code: 1, error: expect.stringContaining("is not the profile's address") });
    const refused = await type([...login.slice(0, 4), "--profile", "bad"], { input: "sp_w_wrong\n" });
    expect(refused).toMatchObject({ code: 4, error: expect.stringContaining("API_KEY_INVALID") });
    expect(await readFile(file, "utf8")).not.toContain("sp_w_wrong");
    expect((await type(["profiles", "remove", "work"])).code).toBe(0);
    expect((await type(["whoami"])).error).toContain("not signed in");
  });

  it("create, read, change and delete, and page", async () => {
    const { key } = await world.workspace();
    const env = as(world, await key("workspace.admin"));
    for (const name of ["shop-one", "shop-two", "shop-three"]) {
      expect((await type(["projects", "create", "--name", name], { env })).code).toBe(0);
    }
    const page = await type(["projects", "list", "--limit", "2", "-o", "json"], { env });
    expect(JSON.parse(page.out).map((one: { name: string }) => one.name)).toEqual(["shop-three", "shop-two"]);
    expect(page.error).toMatch(/^there are more: --all, or --cursor \S+\n$/);
    const all = await type(["projects", "list", "--limit", "2", "--all"], { env });
    expect(all.out.split("\n")).toHaveLength(5);
    expect(all.error).toBe("");
    const plan = join(folder, "project.yaml");
    await writeFile(plan, "rootDirectory: charts/shop\nenabledCapabilities: [deployments]\n");
    const patched = await type(["projects", "patch", "shop-one", "-f", plan, "--root-directory", "x", "-o", "yaml"], {
      env,
    });
    expect(patched.out).toMatch(/rootDirectory: x\n[\s\S]*- deployments/);
    expect(await type(["projects", "delete", "shop-one"], { env })).toEqual({ code: 0, out: "", error: "" });
    expect(await type(["projects", "get", "shop-one"], { env })).toMatchObject({
      code: 5,
      error: expect.stringMatching(/^sallyport projects: NOT_FOUND: no such project.*\n[\s\S]*request id: \S+\n$/),
    });
  });

  it("lead a workspace: its people, its invitations, its settings", async () => {
    const [user, guest] = [await world.user(), await world.user()];
    const env = as(world, user.token);
    const name = `cli-${Date.now().toString(36)}-${world.database.toLowerCase()}`;
    expect((await type(["workspaces", "create", "--name", name], { env })).code).toBe(0);
    const team: Environment = { ...env, SALLYPORT_WORKSPACE: name };
    const json = async (words: readonly string[], as: Environment = team) => {
      const said = await type([...words, "-o", "json"], { env: as });
      expect(said, said.error).toMatchObject({ code: 0 });
      return JSON.parse(said.out);
    };
    const id = (await json(["workspaces", "get"])).id;
    expect(await json(["workspaces", "get", id], env)).toMatchObject({ name });
    const invited = await json(["invitations", "create", "--email", guest.email, "--role", "workspace.viewer"]);
    const token = invited.inviteUrl.split("/").at(-1);
    // Not a member of the profile's workspace yet, so the call must not name it.
    const asGuest: Environment = { ...as(world, guest.token), SALLYPORT_WORKSPACE: name };
    expect(await json(["invitations", "preview", token], asGuest)).toMatchObject({ workspace: { name } });
    expect(await json(["invitations", "accept", token], asGuest)).toMatchObject({ outcome: "joined" });
    expect(await json(["members", "patch", guest.id, "--role", "workspace.member"])).toMatchObject({
      userId: guest.id,
    });
    expect((await json(["members", "list", id], env)).map(({ role }: { role: string }) => role)).toEqual([
      "workspace.admin",
      "workspace.member",
    ]);
    expect(await json(["workspaces", "settings", "patch", "--debug-permission-mode", "ask"])).toMatchObject({
      debugPermissionMode: "ask",
    });
    const last = await type(["members", "remove", user.id], { env: team });
    expect(last).toMatchObject({ code: 10, error: expect.stringContaining("LAST_ADMIN") });
    const nowhere = await type(["members", "list"], { env });
    expect(nowhere).toMatchObject({ code: 10, error: expect.stringContaining("WORKSPACE_REQUIRED") });
  });

  it("resources list --attention shows what is sick in one line with the reason, and tells a pipeline", async () => {
    const site = await newDeploymentSite(world);
    const env = as(world, site.member);
    const status = { partial: false, stale: false, collectionIssues: [], lifecycle: "running" };
    const heartbeat = (resourceId: string, health: string, message: string | null, stale = false) => ({
      ...{ resourceId, resourceType: "queue", controllerPlatform: "kubernetes", backend: "external", raw: [] },
      observedAt: world.clock.wallNow().toISOString(),
      data: { resourceType: "queue", data: { name: resourceId, status: { ...status, health, message, stale } } },
    });
    const why = "1 of 3 ready; api-7d9c5-x2x4z: CrashLoopBackOff";
    const resourceHeartbeats = [heartbeat("web", "healthy", null), heartbeat("api", "degraded", why)];
    const list = (...words: string[]) => type(["resources", "list", "-p", site.project.name, ...words], { env });
    await site.report(await site.deploy("shop"), "running", { resourceHeartbeats });
    expect((await list()).out.split("\n")).toHaveLength(4);
    const sick = await list("--attention");
    expect(sick).toMatchObject({
      code: 3,
      out: expect.stringMatching(/^NAME.*WHY\napi .*degraded .*1 of 3 ready; api-7d9c5-x2x4z: CrashLoopBackOff\n$/),
    });
    expect(await list("--attention", "--type", "worker")).toMatchObject({ code: 0, out: "(none)\n" });
    expect((await list("--attention", "--type", "queue")).code).toBe(3);
    // A pipeline with a type that is none must not be green.
    for (const wrong of ["nope", "Container!", ""]) {
      expect(await list("--attention", "--type", wrong)).toMatchObject({
        ...{ code: 2, out: "" },
        error: expect.stringMatching(/--type is one of container, worker, daemon, ai, kubernetes-cluster, .* not /),
      });
    }
    const noType = await type(["resources", "deployments", "nope", "api"], { env });
    expect(noType).toMatchObject({
      code: 2,
      error: expect.stringContaining("RESOURCE-TYPE is one of container, worker, daemon, ai, not nope"),
    });
    expect(JSON.parse((await list("--attention", "-o", "json")).out)).toMatchObject([{ resourceId: "api" }]);
    const unread = [heartbeat("api", "unknown", "3 of 3 ready", true), heartbeat("web", "healthy", null)];
    await site.report(await site.deploy("bank"), "running", { resourceHeartbeats: unread });
    expect(await list("--attention", "--deployment-group", site.group.id)).toMatchObject({
      code: 3,
      out: expect.stringMatching(
        /\napi .*bank .*unknown .*It cannot be read in the cluster now\. Last known: 3 of 3 ready\n/,
      ),
    });
    const stop = new AbortController();
    const watching = type(["resources", "watch", "--project", site.project.name], {
      env,
      signal: stop.signal,
      onOut: (text) => text.includes("api") && stop.abort(new Stopped("SIGINT")),
    });
    expect((await watching).code).toBe(130);
  });

  it("resources watch shows all once, and then what has changed; a name without end does not widen the table", async () => {
    const site = await newDeploymentSite(world);
    const [id, env] = [await site.deploy("shop"), as(world, site.member)];
    const heartbeat = (resourceId: string, health: string, name = resourceId) => {
      const status = {
        health,
        lifecycle: "running",
        partial: false,
        stale: false,
        collectionIssues: [],
        message: null,
      };
      return {
        ...{ resourceId, resourceType: "queue", controllerPlatform: "kubernetes", backend: "external", raw: [] },
        observedAt: world.clock.wallNow().toISOString(),
        data: { resourceType: "queue", data: { name, namespace: "eu", status } },
      };
    };
    const report = (...resourceHeartbeats: object[]) => site.report(id, "running", { resourceHeartbeats });
    await report(
      heartbeat("api", "healthy"),
      heartbeat("web", "degraded"),
      heartbeat("long", "healthy", "n".repeat(400)),
    );
    const stop = new AbortController();
    const shown: string[] = [];
    const onOut = (text: string): void => {
      if (text === "") return;
      shown.push(text);
      world.clock.advance(1_000);
      if (shown.length === 1) void report(heartbeat("api", "unhealthy"), heartbeat("web", "degraded"));
      else if (shown.length === 2) {
        void site.report(id, "running", { removedHeartbeats: [{ resourceType: "queue", resourceId: "web" }] });
      } else stop.abort(new Stopped("SIGINT"));
    };
    const watched = await type(["resources", "watch", "-p", site.project.name], { env, signal: stop.signal, onOut });
    expect(watched.code).toBe(130);
    const [all = "", changed = "", gone = ""] = shown;
    expect(all.split("\n")).toHaveLength(5);
    expect(all).toMatch(/^NAME +NAMESPACE +TYPE +DEPLOYMENT +HEALTH +SEEN +ID +WHY\nweb +eu +queue +shop +degraded /);
    expect(Math.max(...all.split("\n").map((line) => line.length))).toBeLessThan(260);
    expect(changed).toMatch(/^api +eu +queue +shop +unhealthy .*api\n$/);
    expect(gone).toMatch(/^web +eu +queue +shop +gone .*web\n$/);
    const help = async (word: string) => (await type(["resources", word, "--help"])).out;
    expect(await help("watch")).not.toContain("exit code");
    for (const option of ["--watch", "-o table|json|yaml", "--profile", "--workspace", "exit code 3"])
      expect(await help("list")).toContain(option);
  });

  it("resources get takes names, shows the parts as tables, and lists what a name may mean", async () => {
    const site = await newDeploymentSite(world);
    const [id, env] = [await site.deploy("shop"), as(world, site.member)];
    const observedAt = world.clock.wallNow().toISOString();
    const status = {
      ...{ health: "degraded", lifecycle: "running", partial: true, stale: false, message: "1 of 2 ready" },
      collectionIssues: [{ reason: "forbidden", severity: "warning", source: "events", message: "no right" }],
    };
    const pod = (name: string, more: object) => ({ name, ready: false, restartCount: 3, ownerReferences: [], ...more });
    const container = (namespace: string, more: object) => ({
      ...{ resourceId: `deployment.${namespace}.api`, resourceType: "container", controllerPlatform: "kubernetes" },
      ...{ backend: "kubernetes", observedAt, raw: [] },
      data: {
        resourceType: "container",
        data: {
          ...{ status, backend: "kubernetes", workloadKind: "deployment", namespace, name: "api" },
          ...{ replicas: { desired: 2, ready: 1 }, pods: [], events: [], ...more },
        },
      },
    });
    const condition = { type: "Available", status: "False", reason: "MinimumReplicasUnavailable", message: "wait" };
    const full = {
      pods: [pod("api-1", { waitingReason: "CrashLoopBackOff", nodeName: "node-1" })],
      events: [{ reason: "BackOff", type: "Warning", count: 7, message: "restarting\u001b[2J" }],
      ...{
        cpu: { value: 0.25, unit: "cores" },
        memory: { value: 12 * 2 ** 20, unit: "bytes" },
        usageObservedAt: observedAt,
      },
      workload: { conditions: [condition] },
    };
    const claim = {
      ...{
        rawIdentity: "v1:PersistentVolumeClaim:eu:data",
        providerKind: "PersistentVolumeClaim",
        displayName: "data",
      },
      ...{ health: "healthy", lifecycle: "running", partial: false, providerStale: false, namespace: "eu" },
      resourceTypeHint: "persistent-volume-claim",
    };
    const batch = {
      ...{ sourceKind: "operator", inventoryScope: "claims", controllerPlatform: "kubernetes", backend: "kubernetes" },
      ...{ observedAt, complete: true, resources: [claim] },
    };
    const told = {
      resourceHeartbeats: [container("eu", full), container("us", {})],
      observedInventoryBatches: [batch],
    };
    const answer = await site.report(id, "running", told);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    const get = (...words: string[]) => type(["resources", "get", ...words, "-p", site.project.name], { env });
    const found = await get("shop", "eu/api");
    expect([found.code, found.error]).toEqual([0, ""]);
    for (const [title, line] of [
      ["PODS", /^api-1 +false +- +3 +CrashLoopBackOff +- +- +node-1$/m],
      ["CONDITIONS", /^Available +False +MinimumReplicasUnavailable +- +wait$/m],
      ["USAGE", /^250m +12 MiB +\d+s$/m],
      ["EVENTS", /^Warning +BackOff +7 +- +restarting\\u001b\[2J$/m],
      ["NOT READ", /^forbidden +events +no right$/m],
      ["health", /^why +1 of 2 ready$/m],
    ] as const) {
      expect(found.out).toMatch(new RegExp(`^${title}\\b`, "m"));
      expect(found.out).toMatch(line);
    }
    for (const words of [
      [id, "eu/api"],
      ["shop", "deployment.eu.api"],
      ["container", id, "deployment.eu.api"],
    ])
      expect((await get(...words)).out).toBe(found.out);
    expect(JSON.parse((await get("container", "shop", "eu/api", "-o", "json")).out).deployment.resourceId).toBe(
      "deployment.eu.api",
    );
    expect(await get("shop", "api")).toMatchObject({
      code: 2,
      error: expect.stringMatching(
        /api is the name of 2 resources.*\n {2}container {2}deployment.eu.api {2}eu\n.*us\n/,
      ),
    });
    expect((await get("shop", "data")).out).toMatch(/^resourceType +persistent-volume-claim$/m);
    expect(await get("shop", "nope")).toMatchObject({
      code: 5,
      error: expect.stringContaining("there is no resource nope"),
    });
    expect(await get("nope", "api")).toMatchObject({ code: 5, error: expect.stringContaining("no deployment nope") });
    expect(await get("nope", id, "api")).toMatchObject({ code: 2, error: expect.stringContaining("TYPE is one of") });
  });

  it("say the API's code and hint, and end with the code that a script tells apart", async () => {
    const { key } = await world.workspace();
    const env = as(world, await key("workspace.viewer"));
    const admin = as(world, await key("workspace.admin"));
    expect(await type(["keys", "list"], { env })).toMatchObject({
      code: 4,
      error: expect.stringMatching(/FORBIDDEN[\s\S]*requiredRoles[\s\S]*hint: /),
    });
    const invalid = await type(["projects", "create", "--name", "A!"], { env: admin });
    expect(invalid).toMatchObject({ code: 10, error: expect.stringMatching(/VALIDATION_ERROR\n {2}body\.name /) });
    expect(invalid.error).not.toContain("context.issues");
    await type(["projects", "create", "--name", "twice"], { env: admin });
    expect(await type(["projects", "create", "--name", "twice"], { env: admin })).toMatchObject({
      code: 6,
      error: expect.stringContaining("hint: choose another name"),
    });
  });

  it("watch what changes, until they are stopped", async () => {
    const { key } = await world.workspace();
    const env = as(world, await key("workspace.admin"));
    const stop = new AbortController();
    const shown: string[] = [];
    const onOut = (text: string): void => {
      shown.push(text);
      if (shown.length === 1) void type(["projects", "create", "--name", "fresh"], { env });
      else stop.abort(new Stopped("SIGINT"));
    };
    const watched = await type(["projects", "list", "--watch"], { env, signal: stop.signal, onOut });
    expect(watched.code).toBe(130);
    expect(shown).toEqual(["(none)\n", expect.stringContaining("fresh")]);
  });

  const asked = (site: Site): string[] => [
    ...["access", "request", "--deployment", site.deploymentId, "--title", "Look at the pods"],
    ...["--command", "kubernetes/get-pods", "--params", "namespace=shop", "--wait", "-o", "json"],
  ];

  it("ask for access and follow it until it has run", async () => {
    const site = await newSite(world);
    const { deploymentId, manager } = site;
    const env = as(world, site.engineer);
    const post = (path: string, body: object) => world.call("POST", path, { key: manager, body });
    const at = world.clock.wallNow().toISOString();
    const customer = async (words: string): Promise<void> => {
      const [requestId = ""] = /ar_\w+/.exec(words) ?? [];
      const own = { deploymentId, namespace: "sallyport-grants", resourcePlural: "accessgrants" };
      if (/: queued$/m.test(words)) await post("/v1/access-requests/materialized", { ...own, requestIds: [requestId] });
      if (words.includes("approves with: kubectl patch")) {
        const request = (await world.call("GET", `/v1/access-requests/${requestId}`, { key: site.engineer })).body;
        const approvedUntil = new Date(world.clock.wallNow().getTime() + 60_000).toISOString();
        const approval = { requestId, planHash: request.planHash, approvedAt: at, approvedUntil, decidedBy: "alice" };
        await post("/v1/access-requests/approvals", {
          deploymentId,
          approvals: [{ ...approval, identity: "verified" }],
        });
      }
      if (words.includes("get-pods PENDING")) {
        const path = `/v1/access-requests/${requestId}`;
        const [line] = (await world.call("GET", path, { key: site.engineer })).body.execution.commands;
        await post(`/v1/commands/${line.commandId}/dispatch`, { dispatchedAt: at });
        await post(`/v1/commands/${line.commandId}/complete`, {
          state: "SUCCEEDED",
          completedAt: at,
          result: { pods: [] },
        });
      }
    };
    const followed = await type(asked(site), { env, onError: (words) => void customer(words) });
    expect(followed.error).toMatch(
      /queued[\s\S]*approved by alice \(verified\)\n {2}1\. kubernetes\/get-pods SUCCEEDED\n$/,
    );
    expect(followed.code).toBe(0);
    expect(JSON.parse(followed.out)).toMatchObject({
      status: "customer-approved",
      execution: { state: "succeeded" },
      commands: [{ command: "kubernetes/get-pods", summary: "Look at the pods", params: { namespace: "shop" } }],
    });
  });

  it("send a destructive plan on old knowledge only when they say so", async () => {
    const site = await newSite(world);
    const env = as(world, site.engineer);
    const level = { digest: "0".repeat(16), heartbeats: 0, rows: 0, complete: true };
    const state = { status: "running", platform: "kubernetes", protocolVersion: 1 };
    const resourceLevel = { observedAt: world.clock.wallNow().toISOString(), ...level };
    const body = { deploymentId: site.deploymentId, state, resourceLevel };
    expect((await world.call("POST", "/v1/sync/reconcile", { key: site.manager, body })).status).toBe(200);
    world.clock.advance(600_000);
    const remove = [
      ...["access", "request", "--deployment", site.deploymentId, "--title", "Remove it", "-o", "json"],
      ...["--command", "kubernetes/delete-pod", "--params", "namespace=shop", "--params", "pod=2048"],
      ...["--params", "gracePeriodSeconds=5"],
    ];
    const refused = await type(remove, { env });
    expect([refused.code, refused.error]).toEqual([6, expect.stringContaining("RESOURCE_STATE_STALE")]);
    const [, id = ""] = /^(ar_\w+) is proposed and not queued\n/.exec(refused.error) ?? [];
    const queued = await type(["access", "queue", id, "--accept-stale", "-o", "json"], { env });
    const asked = await type([...remove, "--accept-stale"], { env });
    for (const { out } of [queued, asked]) {
      expect(JSON.parse(out)).toMatchObject({
        ...{ status: "queued", acceptedStale: { ageSeconds: expect.any(Number) } },
        // Each of the kind that its operation asks for.
        commands: [{ params: { namespace: "shop", pod: "2048", gracePeriodSeconds: 5 } }],
      });
    }
  });

  it("end with 8 when a request is not run, and with 9 when nobody decides in time", async () => {
    const site = await newSite(world);
    const env = as(world, site.engineer);
    const withdraw = (words: string): void => {
      const [id = ""] = /ar_\w+/.exec(words) ?? [];
      if (words.includes(": queued")) void type(["access", "reject", id, "--reason", "solved"], { env });
    };
    expect(await type(asked(site), { env, onError: withdraw })).toMatchObject({
      code: 8,
      out: expect.stringContaining('"status": "rejected"'),
    });
    const detail = "waits until the customer accepts\nthis deployment";
    await world.platform.db
      .updateTable("deployments")
      .set({ capabilities: json([{ key: "operations", state: "denied" as const, detail }]) })
      .where("id", "=", site.deploymentId)
      .execute();
    const late = await type([...asked(site), "--timeout", "1m"], { env });
    expect(late.error).toMatch(/: queued\n {2}waits until the customer accepts\\u000athis deployment\n/);
    expect(late).toMatchObject({
      code: 9,
      error: expect.stringMatching(/is still queued: sallyport access wait ar_\w+/),
    });
  });
});

describe("without a platform", () => {
  it.each<[string[], RegExp]>([
    [["access", "lst"], /there is no access-requests lst; there are .*list.*, request, wait/],
    [["projects", "crate"], /there is no projects crate; there are list, create, get, patch, delete/],
    [["projects"], /projects: name one of its verbs: list, create, get, patch, delete\n/],
    [["projects", "-o", "json"], /projects: name one of its verbs: list, create, get, patch, delete\n/],
    [["rollouts"], /rollouts: name its verb: watch\n/],
    [["projects", "get"], /IDORNAME must be given/],
    [["projects", "get", "a", "b"], /too many words: b/],
    [["members", "remove"], /USERID must be given/],
    [["members", "remove", "a", "b", "c"], /too many words: c/],
    [["projects", "create"], /--name missing/],
    [["projects", "create", "--nam", "x"], /Unknown option '--nam'/],
    [["projects", "create", "--name", "x", "--name", "y"], /--name is given twice/],
    [["projects", "list", "--limit", "many"], /--limit is a number, not many/],
    [["projects", "list", "-o", "xml"], /-o is one of table, json, yaml/],
    [["projects", "create", "--name", "x", "--watch"], /--watch is for what only reads/],
    [["access", "list", "--status", "done"], /--status is one of pending-approval, queued/],
    [["access", "request", "--deployment", "d", "--title", "t"], /--command PLUGIN\/OPERATION, or commands in --file/],
    [["login"], /--url must be given/],
  ])("%j is refused in one line, with 2", async (words, told) => {
    const { code, error } = await type(words);
    expect([code, error.trim().split("\n").length]).toEqual([2, 1]);
    expect(error).toMatch(told);
  });

  it("tells an unreachable platform from a refusal", async () => {
    const env = { SALLYPORT_URL: "http://192.0.2.1", SALLYPORT_KEY: "sp_w_x" };
    expect(await type(["whoami"], { env })).toMatchObject({ code: 1, error: expect.stringContaining("must be https") });
  });

  it("says which platform did not answer, and nothing else of its address", async () => {
    const env = { SALLYPORT_URL: "http://127.0.0.1:1/base", SALLYPORT_KEY: "sp_w_x" };
    const { code, error } = await type(["whoami"], { env });
    expect([code, error]).toEqual([7, expect.stringMatching(/NETWORK_ERROR: .*\n {2}address: 127\.0\.0\.1:1\n/)]);
    expect(error).not.toMatch(/base|sp_w_x/);
  });

  it("the overview of machines, and the list of its verbs, have drain and remove once", async () => {
    const { out } = await type(["machines", "--help"]);
    for (const verb of ["drain", "remove"])
      expect(out.match(new RegExp(`^[a-z: ]+${verb} [A-Z]|${verb} DEP`, "gm"))).toHaveLength(1);
    const { error } = await type(["machines", "none"]);
    for (const verb of ["drain", "remove"]) expect(error.match(new RegExp(`\\b(?<!-)${verb}\\b`, "g"))).toHaveLength(1);
  });

  it("every verb has a help, and none is for managers alone", async () => {
    for (const area of areasOf(ROUTES)) {
      expect((await type([area.name, "--help"])).out).toContain("Exit codes:");
      for (const verb of area.verbs) {
        expect((await type([area.name, ...verb.words.split(" "), "--help"])).out).toContain(verb.route.summary);
        expect(verb.route.roles).not.toEqual(["manager.runtime"]);
      }
      const words = area.verbs.flatMap((verb) => [verb.words, ...verb.aliases]);
      expect(new Set(words).size, `${area.name}: ${words.join()}`).toBe(words.length);
    }
  });
});

describe("completion", () => {
  const complete = (...words: string[]) => completions(areasOf(ROUTES), ["platform", "projects"], words);
  it.each<[string[], string[]]>([
    [["proj"], ["projects"]],
    [["access-requests", "que"], ["queue"]],
    [["access", "w"], ["wait"]],
    [
      ["operations", "policy", ""],
      ["get", "put", "set"],
    ],
    [["projects", "list", "--se"], ["--search"]],
    [
      ["invitations", "link", ""],
      ["delete", "get", "put", "set"],
    ],
    [["members", "add", "--role", "workspace.a"], ["workspace.admin"]],
    [["access", "list", "--status", "q"], ["queued"]],
    [
      ["projects", "list", "-o", ""],
      ["json", "table", "yaml"],
    ],
    [
      ["completion", ""],
      ["bash", "zsh"],
    ],
    [["nothing", ""], []],
  ])("of %j is %j", (words, found) => {
    expect(complete(...words)).toEqual(found);
  });
});
