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
  expect(imagesOf(lines(all), refs(all)).map(({ image, refs: of }) => [image, ...of])).toEqual([
    ["r.example/app:1", "Deployment.apps/shop/web", "StatefulSet.apps/shop/api"],
    ["r.example/init:3", "StatefulSet.apps/shop/api"],
    ["r.example/job@sha256:1", "CronJob.batch/shop/nightly"],
    ["r.example/proxy:2", "Deployment.apps/shop/web"],
  ]);
  expect(imagesOf(lines(all), refs([nightly])).map(({ image }) => image)).toEqual(["r.example/job@sha256:1"]);
});

const shown = (manifests: readonly ReleaseManifest[], more: object) => {
  const intent = { rollout: { spec: { action: "install" } }, objects: lines(manifests), former: [], takeOver: [] };
  return planned(intent as unknown as Intent, { ...NOTHING_SHOWN, ...more }).plan.changes ?? [];
};

test("an install says which images come, and so does an update of what it changes, adopts or makes anew", () => {
  const ref = "Deployment.apps/shop/web";
  const runs = [`runs r.example/app:1 in ${ref}`, `runs r.example/proxy:2 in ${ref}`];
  expect(shown([web, api], { created: [ref] })).toEqual([...runs, `create ${ref}`]);
  for (const verb of ["changed", "adopted", "recreated"]) {
    expect(shown([web, api], { [verb]: [{ ref, fields: [".x"], manifest: web }] })).toEqual(
      expect.arrayContaining(runs),
    );
  }
  expect(shown([web], { unchanged: 1 })).toEqual([]);
});

test("an image that stays as the customer has it does not come", () => {
  const ref = "Deployment.apps/shop/web";
  const field = '.spec.template.spec.containers[name="c0"].image';
  const overrides = [{ ref, field, manager: "kubectl-set" }];
  expect(shown([web], { changed: [{ ref, fields: [".x"] }], overrides })).toEqual([
    `runs r.example/proxy:2 in ${ref}`,
    `change ${ref}: .x`,
  ]);
});

test("a line of images has its bound: what has no room is counted, and a long name is cut", () => {
  const many = Array.from({ length: 40 }, (_, index) =>
    workload("Deployment", `web-${index}`, { template: pod("app:1") }),
  );
  const [line = "", ...others] = shown(many, { created: [...refs(many)] });
  expect([line.length <= 400, others.some((each) => each.startsWith("runs "))]).toEqual([true, false]);
  expect(line).toMatch(/^runs app:1 in Deployment\.apps\/shop\/web-0, .*, and \d+ more objects$/);
  const long = workload("Deployment", "web", { template: pod(`r.example/${"a".repeat(500)}`) });
  expect(shown([long], { created: [...refs([long])] })[0]).toMatch(/^runs r\.example\/a+…$/);
});
