import { describe, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { contentDigest } from "../../../src/crds/content-digest.ts";
import type { ReleaseContentSpec, ReleaseObject } from "../../../src/crds/kinds/release-content.ts";
import { RELEASE_CONTENT } from "../../../src/crds/kinds/release-content.ts";
import { ROLLOUT } from "../../../src/crds/kinds/rollout.ts";
import { type Answer, kindObjects } from "../kind-objects.ts";

const cluster = useCluster();
const objects = kindObjects(cluster, [RELEASE_CONTENT, ROLLOUT]);
const DIGEST = `sha256:${"a".repeat(64)}`;
const OTHER = `sha256:${"b".repeat(64)}`;
const AT = "2026-01-01T12:00:00Z";
const UNTIL = "2026-01-01T13:00:00Z";

let made = 0;

const manifest = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, labels: { app: name } },
  spec: { replicas: 2, template: { spec: { containers: [{ name: "c", image: "example/app@sha256:1" }] } } },
});
const line = (name: string): ReleaseObject => ({
  wave: 0,
  frozen: false,
  resourceId: name,
  manifest: manifest(name),
});

async function content(changes: object = {}): Promise<{ readonly name: string; readonly created: Answer }> {
  const name = `rel-${made++}`;
  const asked = {
    deploymentId: "dep_1",
    releaseId: "rel_1",
    version: "1.4.0",
    digest: DIGEST,
    configHash: "c".repeat(64),
    objects: [line("api")],
  };
  return { name, created: await objects.create(RELEASE_CONTENT, name, { ...asked, ...changes }) };
}

async function rollout(changes: object = {}): Promise<{ readonly name: string; readonly created: Answer }> {
  const name = `duop-${made++}`;
  const asked = {
    rolloutId: name.replace("-", "_"),
    deploymentId: "dep_1",
    action: "update",
    contentName: "rel-1",
    contentDigest: DIGEST,
    requestedAt: AT,
    deadline: UNTIL,
  };
  return { name, created: await objects.create(ROLLOUT, name, { ...asked, ...changes }) };
}

const refused = (words: string) => ({ status: 422, message: expect.stringContaining(words) });
const passed = { status: 200, message: "" };

describe("the content of a release", () => {
  test("is stored as it was written, so that its digest is the same when it is read", async () => {
    const lines = [line("api"), { ...line("web"), wave: 1, frozen: true }];
    const { name, created } = await content({ objects: lines });
    expect(created).toEqual({ status: 201, message: "" });
    const path = `/apis/sallyport.dev/v1alpha1/namespaces/sallyport-grants/releasecontents/${name}`;
    const { body } = await cluster().request({ method: "GET", path });
    const { spec } = body as { readonly spec: ReleaseContentSpec };
    expect(contentDigest(spec.objects)).toBe(contentDigest(lines));
  });

  test("holds 300 objects of 3 KiB", async () => {
    const filler = "x".repeat(2_700);
    const many = Array.from({ length: 300 }, (_, index) => {
      const each = line(`w-${index}`);
      return { ...each, manifest: { ...each.manifest, data: { filler } } };
    });
    expect((await content({ objects: many })).created.status).toBe(201);
    expect((await content({ objects: [...many, line("one-more")] })).created.status).toBe(422);
  });

  test.each([
    ["another digest", { digest: OTHER }],
    ["another version", { version: "1.5.0" }],
    ["one object fewer", { objects: [line("api")] }],
  ])("takes no %s", async (_, change) => {
    const { name } = await content({ objects: [line("api"), line("web")] });
    const answer = await objects.patch(RELEASE_CONTENT, name, { spec: change });
    expect(answer).toEqual(refused("a release's content is immutable"));
  });

  test.each([
    ["without a kind", { ...line("api"), manifest: { apiVersion: "v1", metadata: { name: "api" } } }],
    ["without a name's object", { ...line("api"), manifest: "apiVersion: v1" }],
  ])("takes no manifest %s", async (_, bad) => {
    expect((await content({ objects: [bad] })).created.status).toBe(422);
  });
});

describe("a rollout", () => {
  test("of an update needs a content and its digest", async () => {
    expect((await rollout()).created.status).toBe(201);
    expect((await rollout({ contentDigest: undefined })).created).toEqual(refused("belong together"));
    expect((await rollout({ contentName: undefined, contentDigest: undefined })).created).toEqual(
      refused("needs both"),
    );
    const gone = { action: "delete", contentName: undefined, contentDigest: undefined };
    expect((await rollout(gone)).created.status).toBe(201);
  });

  test.each(["delete", "detach"])("of a %s names no content, which its plan would not show", async (action) => {
    expect((await rollout({ action })).created).toEqual(refused("a deletion or detachment has none"));
  });

  test.each([
    ["approved", { approvedDigest: DIGEST }],
    ["denied", { deniedReason: "no" }],
    ["aborted", { abortReason: "no" }],
    ["with fields taken over", { takeOver: [{ kind: "Deployment", name: "api" }] }],
  ])("is not created %s", async (_, decided) => {
    expect((await rollout(decided)).created).toEqual(refused("cannot be created already decided"));
  });

  test("does not change what was asked for", async () => {
    const { name } = await rollout();
    const later = { deadline: "2026-01-02T00:00:00Z" };
    for (const change of [{ contentDigest: OTHER }, { action: "install" }, { version: "1.5.0" }, later]) {
      expect(await objects.patch(ROLLOUT, name, { spec: change })).toEqual(refused("immutable"));
    }
  });

  test("shows a person which version it brings", async () => {
    const { name } = await rollout({ version: "1.4.0" });
    const { stdout, stderr } = await cluster().kubectl(["get", "rout", name, "-n", "sallyport-grants"]);
    expect(stderr).toBe("");
    expect(stdout).toMatch(/DEPLOYMENT +ACTION +VERSION +STATE[\s\S]* 1\.4\.0 /);
  });

  test("takes each word of the customer once", async () => {
    const { name } = await rollout();
    const say = (spec: object) => objects.patch(ROLLOUT, name, { spec });
    expect(await say({ approvedDigest: DIGEST, approvedBy: "alice" })).toEqual(passed);
    expect(await say({ approvedDigest: OTHER })).toEqual(refused("an approval is final"));
    expect(await say({ abortReason: "peak hours" })).toEqual(passed);
    expect(await say({ abortReason: null })).toEqual(refused("an abort is final"));
    expect(await say({ pausedReason: "later" })).toEqual(passed);
    expect(await say({ pausedReason: null })).toEqual(passed);
  });

  test("lets takeOver only grow", async () => {
    const { name } = await rollout();
    const [api, web] = [
      { kind: "Deployment", name: "api" },
      { kind: "Deployment", name: "web" },
    ];
    const take = (...takeOver: object[]) => objects.patch(ROLLOUT, name, { spec: { takeOver } });
    expect(await take(api)).toEqual(passed);
    expect(await take(web, api)).toEqual(passed);
    expect(await take(web)).toEqual(refused("takeOver only grows"));
    await objects.report(ROLLOUT, name, { state: "Queued" });
    expect(await objects.report(ROLLOUT, name, { state: "Applying", startedAt: AT, until: UNTIL })).toEqual(passed);
    expect(await take(web, api, { kind: "Deployment", name: "late" })).toEqual(
      refused("takeOver counts before the rollout starts"),
    );
    expect(await take(web, api)).toEqual(passed);
  });

  test("goes only where a rollout may go, and stays where it ended", async () => {
    const { name } = await rollout();
    const report = (status: object) => objects.report(ROLLOUT, name, status);
    expect(await report({ state: "Planning" })).toEqual(passed);
    expect(await report({ state: "Applying" })).toEqual(refused("goes only where a rollout may go"));
    expect(await report({ state: "Queued" })).toEqual(passed);
    expect(await report({ state: "Applying" })).toEqual(refused("needs startedAt and until"));
    expect(await report({ state: "Applying", startedAt: AT, until: UNTIL })).toEqual(passed);
    expect(await report({ until: "2026-01-01T13:30:00Z" })).toEqual(refused("until is write-once"));
    expect(await report({ state: "Gating" })).toEqual(passed);
    expect(await report({ state: "Pruning" })).toEqual(passed);
    expect(await report({ state: "Succeeded", finishedAt: UNTIL })).toEqual(passed);
    expect(await report({ state: "Planning" })).toEqual(refused("its end is final"));
    expect(await report(null as never)).toEqual(refused("status cannot be wiped"));
    for (const spec of [
      { approvedDigest: `sha256:${"a".repeat(64)}` },
      { abortReason: "late" },
      { deniedReason: "late" },
    ]) {
      expect(await objects.patch(ROLLOUT, name, { spec })).toEqual(refused("no word on it counts any more"));
    }
    expect(await objects.patch(ROLLOUT, name, { metadata: { labels: { kept: "yes" } } })).toEqual(passed);
  });

  test("runs for two hours at most", async () => {
    const { name } = await rollout();
    await objects.report(ROLLOUT, name, { state: "Planning" });
    await objects.report(ROLLOUT, name, { state: "Queued" });
    const late = { state: "Applying", startedAt: AT, until: "2026-01-01T14:00:01Z" };
    expect(await objects.report(ROLLOUT, name, late)).toEqual(refused("two hours at most"));
  });

  test("that was denied is not applied", async () => {
    const { name } = await rollout();
    await objects.report(ROLLOUT, name, { state: "Planning" });
    await objects.report(ROLLOUT, name, { state: "Queued" });
    await objects.patch(ROLLOUT, name, { spec: { deniedReason: "not this week" } });
    const started = { state: "Applying", startedAt: AT, until: UNTIL };
    expect(await objects.report(ROLLOUT, name, started)).toEqual(refused("a rollout that was denied goes no further"));
  });
});
