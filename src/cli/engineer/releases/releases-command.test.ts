import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newSite, type Site } from "../../../platform/areas/deployments/testing/site.ts";
import { release, STACK } from "../../../platform/areas/releases/testing/releases.ts";
import { onEachDatabase, type World } from "../../../platform/testing/harness.ts";
import { type Typing, typeCommand } from "./testing/type-command.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-releases-"));
  const object = (kind: string) => `apiVersion: v1\nkind: ${kind}\nmetadata: {name: web}\n`;
  await writeFile(join(folder, "web.yaml"), `${object("Service")}---\n${object("ConfigMap")}`);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const type = (words: readonly string[], typing?: Typing) => typeCommand(folder, words, typing);

onEachDatabase("sallyport release and rollouts", (world: World) => {
  const of = (site: Site) => ({ env: { SALLYPORT_URL: world.platform.url, SALLYPORT_KEY: site.member } });
  const runs = (releaseId: string) => ({ currentRelease: { releaseId } });
  const create = (site: Site, version: string, ...more: readonly string[]) =>
    ["release", "create", "--project", site.project.name, "--version", version, ...more, "-o", "json"] as const;

  it("release manifests, promote them, and follow them until every deployment runs them or has failed", async () => {
    const site = await newSite(world);
    const one = await release(site);
    const [eu, us] = [await site.deploy("acme-eu"), await site.deploy("acme-us")];
    for (const id of [eu, us]) await site.report(id, "running", {}, runs(one));
    const said = ["0".repeat(40), "2026-11-24T10:00:00+01:00", "Ada", "ada@example.com", "Faster"].join("\0");
    const made = await type(create(site, "1.4.0", "--manifests", folder, "--git"), {
      ...of(site),
      tool: { log: `${said}\n`, status: " M web.yaml\n", "symbolic-ref": "refs/heads/main\n" },
    });
    expect([made.code, made.error]).toEqual([
      0,
      expect.stringMatching(/^2 objects, 0\.3 KiB: ConfigMap 1, Service 1\n/),
    ]);
    const { id, objects } = JSON.parse(made.out);
    expect(objects).toEqual({ ConfigMap: 1, Service: 1 });
    const stored = (await site.call("GET", `/v1/releases/${id}`)).body;
    expect(
      stored.stack.kubernetes.resources.manifests.config.objects.map((each: { kind: string }) => each.kind),
    ).toEqual(["ConfigMap", "Service"]);
    expect(stored.gitMetadata).toMatchObject({
      commitAuthorName: "Ada",
      commitMessage: "Faster",
      dirty: true,
      remoteUrl: null,
    });
    const none = await type(["rollouts", "watch", id], of(site));
    expect([none.code, none.error]).toEqual([0, expect.stringMatching(/^no deployment is to run this release/)]);
    const promoted = await type(["releases", "promote", id, "--channel", "production", "-o", "json"], of(site));
    expect([promoted.code, JSON.parse(promoted.out).currentReleaseId]).toEqual([0, id]);
    const disabled = { code: "RUNNER_DISABLED", message: "nothing installs it", internal: false };
    await site.report(us, "update-pending", {}, { error: disabled });
    const once = await type(
      ["rollouts", "watch", "--channel", "production", "--project", site.project.name, "--once"],
      of(site),
    );
    expect([once.code, once.error]).toEqual([9, "2 pending; wait for the customer: acme-us\n"]);
    expect(once.out).toMatch(/^NAME +GROUP +STATE +STATUS +WHY\nacme-eu +group +pending +update-pending .*\nacme-us /);
    expect(once.out).toContain("RUNNER_DISABLED: nothing installs it; it stays wanted");
    const late = await type(["rollouts", "watch", id, "--timeout", "1s"], of(site));
    expect([late.code, late.error]).toEqual([9, expect.stringContaining("2 pending; wait for the customer: acme-us")]);
    const failure = { code: "ROLLED_BACK", message: "wave 2: web is not ready", internal: false };
    const steps: (readonly [string, () => Promise<unknown>])[] = [
      ["RUNNER_DISABLED", () => Promise.all([eu, us].map((each) => site.report(each, "updating")))],
      ["acme-eu  group  updating", () => site.report(eu, "running", {}, runs(id))],
      ["acme-eu  group  updated", () => site.report(us, "update-failed", {}, { error: failure })],
    ];
    const onOut = (text: string): void => {
      const [next] = steps;
      if (next === undefined || !text.replace(/ +/g, "  ").includes(next[0])) return;
      steps.shift();
      void next[1]();
    };
    const watched = await type(["rollouts", "watch", id], { ...of(site), onOut });
    const followed = /^2 pending; wait for the customer: acme-us; followed until .*\n1 updated, 1 failed\n$/;
    expect([watched.code, watched.error, steps]).toEqual([8, expect.stringMatching(followed), []]);
    expect(watched.out).toMatch(
      /\nacme-us +group +failed +update-failed +ROLLED_BACK: wave 2: web is not ready; mend it and promote another release, or retry\n$/,
    );
    // Each change is one line: the first look, and then those that changed.
    expect(watched.out.split("\n").filter((line) => line.startsWith("acme-eu"))).toHaveLength(3);
    await site.report(us, "error", {}, runs(id));
    await site.call("POST", `/v1/deployments/${us}/delete`, { body: { action: "forget" } });
    expect((await type(["rollouts", "watch", id, "-o", "json"], of(site))).code).toBe(0);
  });

  it("name what a release is, and say when it installs nothing or is promoted already", async () => {
    const site = await newSite(world);
    await site.call("POST", "/v1/release-channels", { query: { project: site.project.name }, body: { name: "beta" } });
    const empty = await type(["releases", "create", "--project", site.project.name, "--version", "1.0.0"], of(site));
    expect([empty.code, empty.error]).toEqual([
      0,
      expect.stringMatching(/^the release has no stack: it installs .*\n/),
    ]);
    const [, id = ""] = /(rel_\w+)/.exec(empty.out) ?? [];
    const promoted = await type(["releases", "promote", id, "--channel", "beta"], of(site));
    expect(promoted.out).toMatch(new RegExp(`^currentReleaseId +1\\.0\\.0 \\(${id}\\)$`, "m"));
    expect(promoted.error).toBe(`${empty.error.split("\n")[0]}\nsallyport rollouts watch ${id}\n`);
    const beta = await type(create(site, "2.0.0", "--manifests", folder, "--channel", "beta"), of(site));
    expect(beta.error).toMatch(/^2 objects, .*\npromoted to beta: sallyport rollouts watch rel_\w+\n$/);
  });

  it("keep the API's own form, and take a stack of a file", async () => {
    const site = await newSite(world);
    const stack = JSON.stringify({ aws: STACK });
    const plain = await type(
      ["releases", "create", "--project", site.project.name, "--stack", stack, "-o", "json"],
      of(site),
    );
    expect(plain).toMatchObject({ code: 0, out: expect.stringContaining('"aws": {') });
    const file = join(folder, "stack.yaml.txt");
    await writeFile(file, JSON.stringify(STACK));
    const whole = await type(create(site, "2.0.0", "--stack", file), of(site));
    expect(whole).toMatchObject({ code: 0, error: expect.stringContaining("2 resources, 0.") });
    expect(JSON.parse(whole.out)).toMatchObject({ version: "2.0.0", resources: { bucket: 1, container: 1 } });
    const taken = await type(create(site, "2.0.0", "--stack", file, "--channel", "production"), of(site));
    expect([taken.code, taken.error]).toEqual([6, expect.stringContaining("NAME_TAKEN")]);
  });
});

it.each([
  ["rel_abc", "sallyport releases promote rel_abc --channel production; then sallyport rollouts watch rel_abc\n"],
  ["rel_abc;$(reboot)", ""],
])("the next line to type is shown for an id that no shell reads: %s", async (id, line) => {
  const made = { id, version: "1.0.0", projectId: "prj_1", createdAt: "2026-01-01T00:00:00.000Z" };
  await answering(made, async (env) => {
    const file = join(folder, "one.txt");
    await writeFile(file, "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n");
    const words = ["--project", "shop", "--manifests", file, "--version", "1.0.0"];
    const said = await type(["releases", "create", ...words], { env });
    expect(said.code, said.error).toBe(0);
    expect(said.error).toMatch(/^1 object, /);
    expect(said.error.split("\n").slice(1).join("\n")).toBe(line);
  });
});

/** A platform that gives one answer to everything. */
async function answering(answer: object, work: (env: Record<string, string>) => Promise<void>): Promise<void> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(request.method === "GET" ? 200 : 201, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    const { port } = server.address() as AddressInfo;
    await work({ SALLYPORT_URL: `http://127.0.0.1:${port}`, SALLYPORT_KEY: "sp_w_key" });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it.each([
  ["eyJpZCI6MX0", "there are more: --all, or --cursor eyJpZCI6MX0\n"],
  ["a;$(reboot)\u001b[2J", "there are more: --all\n"],
])("the cursor of the next page is shown only where no shell reads it: %j", async (nextCursor, line) => {
  await answering({ items: [], nextCursor }, async (env) => {
    expect(await type(["releases", "list", "--channel", "beta"], { env })).toMatchObject({ code: 0, error: line });
    const others =
      "only releases that are or were promoted to production: --all-channels lists every one, newest first\n";
    expect((await type(["releases", "list"], { env })).error).toBe(`${others}${line}`);
  });
});

it.each<[readonly string[], RegExp]>([
  [
    ["release", "create", "--project", "shop", "--values", "a"],
    /what is released: one of --stack, --manifests, --helm/,
  ],
  [["release", "create", "--project", "shop", "--helm", "a", "--stack", "b"], /what is released: one of/],
  [
    ["release", "create", "--project", "shop", "--stack", "b", "--values", "a"],
    /--values and --namespace are for --helm/,
  ],
  [["release", "create", "--manifests", "a"], /--project missing/],
  [["releases", "promote"], /usage: sallyport releases promote RELEASE/],
  [["rollouts", "watch"], /usage: sallyport rollouts watch RELEASE, or --channel/],
  [["rollouts", "watch", "rel", "--channel", "a"], /usage: sallyport rollouts watch/],
  [["rollouts", "list"], /there is no rollouts list; there is watch/],
])("%j is called wrongly", async (words, told) => {
  const { code, error } = await type(words);
  expect([code, error]).toEqual([2, expect.stringMatching(told)]);
});

it("each has a help with its flags", async () => {
  const help = async (...words: string[]) => (await type([...words, "--help"])).out;
  for (const flag of ["--manifests", "--helm", "--values", "--git", "--channel", "--version", "-o table|json|yaml"])
    expect(await help("release", "create")).toContain(flag);
  expect(await help("release", "promote")).toMatch(/RELEASE \[--channel NAME\] .*\[--expected-release-id RELEASE\]\n/);
  for (const flag of ["--once", "--timeout", "--group", "  9  "])
    expect(await help("rollouts", "watch")).toContain(flag);
});
