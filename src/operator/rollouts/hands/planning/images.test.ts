import { expect, test } from "vitest";
import type { ReleaseManifest } from "../../../../crds/kinds/release-content.ts";
import { refOf } from "../../release-rules.ts";
import type { Intent } from "../hands.ts";
import { imagesOf } from "./images.ts";
import { NOTHING_SHOWN, planned } from "./plan.ts";

const pod = (...images: readonly string[]) => ({
  spec: { containers: images.map((image, index) => ({ name: `c${index}`, image })) },
});
const workload = (kind: string, name: string, spec: object): ReleaseManifest => ({
  apiVersion: kind.endsWith("Job") ? "batch/v1" : "apps/v1",
  ...{ kind, metadata: { name, namespace: "shop" }, spec },
});
const lines = (manifests: readonly ReleaseManifest[]) =>
  manifests.map((manifest) => ({ wave: 0, frozen: false, resourceId: "a", manifest }));
const refs = (manifests: readonly ReleaseManifest[]) => new Set(manifests.map(refOf));

const web = workload("Deployment", "web", { template: pod("r.example/app:1", "r.example/proxy:2") });
const api = workload("StatefulSet", "api", {
  template: { spec: { ...pod("r.example/app:1").spec, initContainers: [{ name: "i", image: "r.example/init:3" }] } },
});
const nightly = workload("CronJob", "nightly", { jobTemplate: { spec: { template: pod("r.example/job@sha256:1") } } });

test("each image of what is made or changed is named once, with what runs it, also in init containers and jobs", () => {
  const all = [web, api, nightly];
  expect(imagesOf(lines(all), [], refs(all)).map(({ image, refs: of }) => [image, ...of])).toEqual([
    ["r.example/app:1", "Deployment.apps/shop/web", "StatefulSet.apps/shop/api"],
    ["r.example/init:3", "StatefulSet.apps/shop/api"],
    ["r.example/job@sha256:1", "CronJob.batch/shop/nightly"],
    ["r.example/proxy:2", "Deployment.apps/shop/web"],
  ]);
  expect(imagesOf(lines(all), [], refs([nightly])).map(({ image }) => image)).toEqual(["r.example/job@sha256:1"]);
});

const NAME = "rel-2";
const shown = (manifests: readonly ReleaseManifest[], more: object, former: readonly ReleaseManifest[] = []) => {
  return (planOf(manifests, more, former).plan.changes ?? []).filter((line) => !line.startsWith("comes to "));
};
const planOf = (manifests: readonly ReleaseManifest[], more: object, former: readonly ReleaseManifest[] = []) => {
  const rollout = { spec: { action: "install", contentName: NAME } };
  const intent = { rollout, objects: lines(manifests), former: lines(former), takeOver: [] };
  return planned(intent as unknown as Intent, { ...NOTHING_SHOWN, ...more });
};
const ref = "Deployment.apps/shop/web";

test("an install says which images come, and so does an update of what it changes, adopts or makes anew", () => {
  const runs = ["app:1", "proxy:2"].map((each) => `runs r.example/${each}, new in this release, in ${ref}`);
  expect(shown([web, api], { created: [ref] })).toEqual([...runs, `create ${ref}`]);
  for (const verb of ["changed", "adopted", "recreated"]) {
    expect(shown([web, api], { [verb]: [{ ref, fields: [".x"], manifest: web }] })).toEqual(
      expect.arrayContaining(runs),
    );
  }
  expect(shown([web], { unchanged: 1 })).toEqual([]);
});

test("an image that stays as the customer has it does not come", () => {
  const field = '.spec.template.spec.containers[name="c0"].image';
  const overrides = [{ ref, field, manager: "kubectl-set" }];
  expect(shown([web], { changed: [{ ref, fields: [".x"] }], overrides })).toEqual([
    `runs r.example/proxy:2, new in this release, in ${ref}`,
    `change ${ref}: .x`,
  ]);
});

test("what is new comes first, of a new repository before a new version, and what ran before comes last", () => {
  const images = ["r.example:5000/app:2", "r.example/proxy:2", "r.example:5000/app:3@sha256:1", "zz.example/miner"];
  const next = workload("Deployment", "web", { template: pod(...images) });
  const before = workload("Deployment", "web", { template: pod("r.example:5000/app:1", "r.example/proxy:2") });
  expect(shown([next], { changed: [{ ref, fields: [] }] }, [before])).toEqual([
    `runs zz.example/miner, new in this release, in ${ref}`,
    `runs r.example:5000/app:2, new in this release, in ${ref}`,
    `runs r.example:5000/app:3@sha256:1, new in this release, in ${ref}`,
    `change ${ref}`,
    `runs r.example/proxy:2 in ${ref}`,
  ]);
});

const many = (of: string, count: number) => Array.from({ length: count }, (_, index) => `${of}-${index}`);

test("no number of other lines, of known images and of new versions hides an image from elsewhere", () => {
  const known = many("a.example/app", 200);
  const former = [workload("Deployment", "web", { template: pod(...known) })];
  const bumped = known.map((image, index) => (index % 2 === 0 ? image : `${image}:2`));
  const changed = [{ ref, fields: [".x"] }];
  const others = { changed, created: many("ConfigMap/shop/c", 150), pruned: many("ConfigMap/shop/p", 150) };
  for (const images of [known, bumped]) {
    const next = workload("Deployment", "web", { template: pod(...images, "zz.example/miner") });
    const all = shown([next], { ...others, risks: many("stops", 150), met: many("pods", 150) }, former);
    const runs = all.filter((line) => line.includes("new in this release"));
    expect(runs[0]).toBe(`runs zz.example/miner, new in this release, in ${ref}`);
    // And the line of what all of it comes to.
    expect(all).toHaveLength(99);
    const left = bumped === images ? [`and ${101 - 29} more new images: ReleaseContent ${NAME} has all`] : [];
    expect([runs.length, all.filter((line) => line.includes("more new"))]).toEqual([left.length === 0 ? 1 : 29, left]);
  }
});

test("an approval covers images that the plan has no room for", () => {
  const of = (last: string) =>
    planOf([workload("Deployment", "web", { template: pod(...many("app", 150), last) })], { created: [ref] });
  const [one, other] = [of("zz.example/a"), of("zz.example/b")];
  expect(one.plan).toEqual(other.plan);
  expect(one.plannedDigest).not.toBe(other.plannedDigest);
});

test("a line of images has its bound: what has no room is counted, and of a name the middle is cut", () => {
  const webs = many("web", 40).map((name) => workload("Deployment", name, { template: pod("app:1") }));
  const [line = "", ...others] = shown(webs, { created: [...refs(webs)] });
  expect([line.length <= 400, others.some((each) => each.startsWith("runs "))]).toEqual([true, false]);
  expect(line).toMatch(/^runs app:1, new in this release, in Deployment\.apps\/shop\/web-0, .*, and \d+ more objects$/);
  const digest = `@sha256:${"0123456789abcdef".repeat(4)}`;
  const name = "n".repeat(253);
  const long = workload("Deployment", name, {
    template: pod(`r.example/${"a".repeat(245)}:${"t".repeat(128)}${digest}`, `s.example/${"b".repeat(5_000)}`),
  });
  expect(shown([long, ...webs], { created: [...refs([long])] })).toEqual([
    expect.stringMatching(new RegExp(`^runs r\\.example/a+…t+${digest}, new in this release, in 1 object$`)),
    expect.stringMatching(/^runs s\.example\/b+…b+, new in this release, in /),
    expect.stringContaining("create "),
  ]);
});
