import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newSite, type Site } from "../../../platform/areas/deployments/testing/site.ts";
import { promote, release, STACK } from "../../../platform/areas/releases/testing/releases.ts";
import { onEachDatabase, type World } from "../../../platform/testing/harness.ts";
import { type Typing, typeCommand } from "./testing/type-command.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-diff-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
const type = (words: readonly string[], typing?: Typing) => typeCommand(folder, words, typing);

const CANARY = "canary-of-a-secret";
const container = (more: object) => ({
  config: { id: "web", type: "container", image: "registry.example.com/web:1.3.0", ...more },
  ...{ dependencies: [], lifecycle: "live" },
});
const stackOf = (resources: object) => ({ stack: { kubernetes: { id: "shop", resources } } });

onEachDatabase("sallyport deployments diff", (world: World) => {
  const of = (site: Site) => ({ env: { SALLYPORT_URL: world.platform.url, SALLYPORT_KEY: site.member } });
  const variables = (site: Site, id: string, given: readonly object[]) =>
    site.call("PATCH", `/v1/deployments/${id}/environment-variables`, { body: { variables: given } });

  it("shows the objects that another release would change, and ends as kubectl diff does", async () => {
    const site = await newSite(world);
    const one = await release(site, { ...stackOf({ web: container({ replicas: 2 }) }), version: "1.3.0" });
    const id = await site.deploy("acme-eu");
    const nothing = await type(["deployments", "diff", id], of(site));
    expect(nothing.code).toBe(1);
    expect(nothing.error).toMatch(/^acme-eu: nothing installed → 1\.3\.0 \(rel_.*: objects of Kubernetes/);
    expect(nothing.out.split("\n")).toContain("+ Deployment web");
    await site.report(id, "running", {}, { currentRelease: { releaseId: one } });
    const same = await type(["deployments", "diff", id], of(site));
    expect([same.code, same.out, same.error.split("\n").at(-2)]).toEqual([0, "", "no difference"]);
    const next = container({ replicas: 1, image: "registry.example.com/web:1.4.0" });
    const two = await release(site, { ...stackOf({ web: next }), version: "1.4.0" });
    const asked = await type(["deployments", "diff", id, "--release", two], of(site));
    expect(asked.code).toBe(1);
    expect(asked.out).toBe(
      [
        "- PodDisruptionBudget web",
        "~ Deployment web: its pods are replaced",
        "    spec.replicas: 2 → 1",
        '    spec.template.spec.containers[web].image: "registry.example.com/web:1.3.0" → "registry.example.com/web:1.4.0"',
        "",
      ].join("\n"),
    );
    expect(asked.error.split("\n").at(-2)).toBe("1 changed, 1 removed");
    await promote(site, two);
    const wanted = await type(["deployments", "diff", id, "-o", "json"], of(site));
    expect(JSON.parse(wanted.out)).toMatchObject({
      ...{ from: { version: "1.3.0" }, to: { id: two }, compares: "objects", unrendered: [] },
      changes: [{ change: "removed" }, { fields: [{ path: "spec.replicas", before: 2, after: 1 }, {}] }],
    });
  });

  it("names variables, and tells no secret value; that not each customer takes these is told", async () => {
    const site = await newSite(world);
    const one = await release(site, stackOf({ web: container({}) }));
    const id = await site.deploy("acme-eu");
    const plain = { name: "LEVEL", value: "info", type: "plain" };
    const secret = { name: "KEY", value: CANARY, type: "secret", targetResources: ["other"] };
    await variables(site, id, [plain, secret]);
    await site.report(id, "running", {}, { currentRelease: { releaseId: one } });
    await variables(site, id, [{ ...plain, value: "debug" }, secret]);
    const changed = await type(["deployments", "diff", id], of(site));
    expect(changed.code).toBe(1);
    expect(changed.out).toContain('~ environment variables\n    [LEVEL].value: "info" → "debug"\n');
    expect(changed.out).toContain('containers[web].env[LEVEL].value: "info" → "debug"\n');
    await variables(site, id, [plain, { ...secret, value: `${CANARY}-2` }]);
    const hidden = await type(["deployments", "diff", id, "-o", "yaml"], of(site));
    expect([hidden.code, hidden.out]).toEqual([1, expect.stringMatching(/before: \(secret\)\n +after: \(secret\)/)]);
    await variables(site, id, [{ ...secret, targetResources: null }]);
    const read = await type(["deployments", "diff", id], of(site));
    expect(read.error).toMatch(
      /\n\S+ \(rel_\w+\) has secret values: a customer without releases\.secrets refuses it\n/,
    );
    expect(read.error).toMatch(/^acme-eu: .*: objects of Kubernetes/);
    for (const { out, error } of [changed, hidden, read]) expect(out + error).not.toContain(CANARY);
  });

  it("is refused where there is nothing to compare with, never with the code of a difference", async () => {
    const site = await newSite(world);
    const id = await site.deploy("acme-eu");
    const none = await type(["deployments", "diff", id], of(site));
    expect([none.code, none.error]).toEqual([6, expect.stringContaining("no release is wanted for acme-eu: promote")]);
    const other = await newSite(world);
    const foreign = await type(["deployments", "diff", id, "--release", await release(other)], of(site));
    expect([foreign.code, foreign.error]).toEqual([5, expect.stringContaining("NOT_FOUND")]);
    const cloud = await release(site, { stack: { aws: STACK } });
    const without = await type(["deployments", "diff", id, "--release", cloud], of(site));
    expect([without.code, without.error]).toEqual([
      2,
      expect.stringContaining("has nothing for the platform kubernetes"),
    ]);
  });
});

it.each<[readonly string[], number, RegExp]>([
  [["deployments", "diff"], 2, /usage: sallyport deployments diff DEPLOYMENT/],
  [["deployments", "diff", "a", "b"], 2, /usage: sallyport deployments diff/],
  [["deployments", "diff", "a"], 2, /not signed in/],
])("%j ends with %i", async (words, code, told) => {
  expect(await type(words)).toMatchObject({ code, error: expect.stringMatching(told) });
});

it("has a help, and the other verbs are the API's", async () => {
  expect((await type(["deployments", "diff", "--help"])).out).toContain("as of kubectl diff: 0 no difference, 1");
  expect((await type(["deployments", "--help"])).out).toContain("sallyport deployments diff: see its --help");
  expect((await type(["deployments", "nope"])).error).toMatch(/there is no deployments nope; there are .*, diff/);
});
