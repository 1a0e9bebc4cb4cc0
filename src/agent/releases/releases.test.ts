import { beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { StoredError } from "../../contract/wire/stored-error.ts";
import { contentDigest } from "../../crds/content-digest.ts";
import type { ReleaseContent } from "../../crds/kinds/release-content.ts";
import type { Rollout } from "../../crds/kinds/rollout.ts";
import { context, DEPLOYMENT, deploymentConfig, kubeError, NAMESPACE } from "../testing/sample.ts";
import type { Member } from "./installed.ts";
import type { NewContent, NewRollout } from "./release-objects.ts";
import { NOTHING_WANTED, type ReleaseRecord } from "./release-record.ts";
import { Releases } from "./releases.ts";
import type { Rendered, RenderRequest } from "./render/render-stack.ts";
import { stored } from "./rollout-progress.ts";

const OPERATION = `duop_${"1".repeat(28)}`;
const RELEASE = `rel_${"a".repeat(28)}`;
const AT = "2026-01-01T12:00:00.000Z";
const CANARY = "canary-9d1e";

const record: ReleaseRecord = {
  id: DEPLOYMENT,
  status: "update-pending",
  desiredReleaseId: RELEASE,
  currentReleaseId: null,
  wanted: { ...NOTHING_WANTED, operation: { id: OPERATION, releaseId: RELEASE, requestedAt: AT } },
};
const config = deploymentConfig({
  variables: [{ name: "TOKEN", value: CANARY, type: "secret" }],
  hash: "h",
  createdAt: AT,
});
const stack = { id: "shop", resources: { web: { config: { type: "container" }, lifecycle: "live" } } };
const target = { releaseInfo: { releaseId: RELEASE, version: "1.4.0", stack }, config };
const current = { status: "update-pending" as const, platform: "kubernetes" as const, protocolVersion: 1 };
const objects = [
  {
    wave: 0,
    frozen: false,
    resourceId: "web",
    manifest: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web" } },
  },
];

const SALT = Buffer.alloc(32, 1);

class World {
  readonly clock = new FakeClock(AT);
  readonly made: string[] = [];
  readonly contents = new Map<string, NewContent>();
  readonly rollouts = new Map<string, NewRollout>();
  /** The cache shows what was made. */
  isShown = true;
  isLeased = true;
  full: string | undefined;
  refuseWith: Error | undefined;
  rendered: Rendered = { ok: true, objects, configHash: "c".repeat(64) };
  readonly inputs: RenderRequest[] = [];
  secretRefusal: StoredError | undefined;
  afterRender: () => void = () => undefined;
  members: Member[] = [];
  afterContent: () => void = () => undefined;
  readonly releases: Releases;

  constructor() {
    const room = { fullBecause: () => this.full, made: () => undefined, unmade: () => undefined };
    this.releases = new Releases({
      members: () => this.members,
      offersMachines: () => false,
      cluster: {
        rolloutsOf: () => (this.isShown ? ([...this.rollouts.values()] as unknown as Rollout[]) : []),
        contentNamed: (name) => (this.isShown ? (this.contents.get(name) as unknown as ReleaseContent) : undefined),
        readContent: async (name) => this.contents.get(name) as unknown as ReleaseContent,
        readRollout: async (name) => this.rollouts.get(name) as unknown as Rollout,
        createContent: async (content) => {
          this.#create(this.contents, content);
          this.afterContent();
        },
        createRollout: async (rollout) => this.#create(this.rollouts, rollout),
      },
      room: { contents: room, rollouts: [room] },
      render: (input) => {
        this.inputs.push(input);
        this.afterRender();
        return this.rendered;
      },
      grantsNamespace: NAMESPACE,
      secrets: {
        salt: async () => SALT,
        make: async ({ name }, deploymentId) => {
          this.made.push(`Secret ${name} of ${deploymentId}`);
          return this.secretRefusal;
        },
      },
      tellsWords: true,
      clock: this.clock,
    });
  }

  #create<T extends NewContent | NewRollout>(into: Map<string, T>, object: T): void {
    if (this.refuseWith !== undefined) throw this.refuseWith;
    const { name } = object.metadata;
    if (into.has(name)) throw kubeError(409, "AlreadyExists", "there already");
    into.set(name, object);
    this.made.push(object.kind);
  }

  answer(changes: { readonly record?: ReleaseRecord; readonly target?: unknown; readonly namespaces?: string[] } = {}) {
    const isLeased = () => this.isLeased;
    const told = { ...current, targetRelease: target.releaseInfo };
    return this.releases.answered(
      { record, target, namespaces: ["shop"], current: told, isLeased, ...changes },
      context,
    );
  }

  told(of = record): string {
    const step = this.releases.step(of, this.isLeased);
    if (step.do !== "report") return step.do;
    const { status, error } = step.report.state;
    return error == null ? status : `${status} ${error.code}: ${error.message}`;
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});

describe("the target of an answer", () => {
  test("becomes a content with its digest, and then a rollout that names it", async () => {
    await world.answer();
    expect(world.made).toEqual(["ReleaseContent", "Rollout"]);
    const [content] = world.contents.values();
    const digest = contentDigest(objects);
    expect(content).toMatchObject({
      metadata: { name: `rel-${"a".repeat(28)}-${digest.slice(7, 19)}`, namespace: NAMESPACE },
      spec: { deploymentId: DEPLOYMENT, releaseId: RELEASE, version: "1.4.0", digest },
    });
    expect(world.rollouts.get(`duop-${"1".repeat(28)}`)).toMatchObject({
      spec: {
        ...{ action: "install", contentName: content?.metadata.name, contentDigest: digest, requestedAt: AT },
        version: content?.spec.version,
      },
    });
    expect(world.inputs).toMatchObject([
      { stack, releaseId: RELEASE, namespaces: ["shop"], grantsNamespace: NAMESPACE },
    ]);
  });
  test("is rendered for the namespace where the release before is, also when the customer accepts another one first", async () => {
    world.rollouts.set("before", {
      metadata: { name: "before", creationTimestamp: AT },
      spec: {
        rolloutId: "before",
        deploymentId: DEPLOYMENT,
        contentName: "rel-0",
        contentDigest: "d",
        requestedAt: AT,
      },
      status: { state: "Succeeded", startedAt: AT, namespaces: ["shop", "gone"] },
    } as never);
    await world.answer({ namespaces: ["jobs", "shop"] });
    expect(world.inputs).toMatchObject([{ namespaces: ["shop", "jobs"] }]);
  });
  test("is asked for once, also while the cache does not show it", async () => {
    await world.answer();
    world.isShown = false;
    await world.answer();
    world.isShown = true;
    await world.answer();
    expect(world.made).toEqual(["ReleaseContent", "Rollout"]);
    expect(world.told()).toBe("update-pending");
  });
  test("is finished by another process where this one ended in between", async () => {
    world.afterContent = () => {
      throw new Error("killed");
    };
    await expect(world.answer()).rejects.toThrow("killed");
    const next = new World();
    for (const [name, content] of world.contents) next.contents.set(name, content);
    await next.answer();
    expect(next.made).toEqual(["Rollout"]);
  });
  test("is left alone without the lease, also when it lapses in between", async () => {
    world.afterContent = () => {
      world.isLeased = false;
    };
    await world.answer();
    await world.answer();
    expect(world.made).toEqual(["ReleaseContent"]);
  });
  test("is not kept: its secrets are nowhere afterwards", async () => {
    world.rendered = { ok: false, problems: [{ path: "a", message: "no", code: "SECRET_VALUES_REFUSED" }] };
    await world.answer();
    world.rendered = new World().rendered;
    expect(JSON.stringify([world.releases.step(record, true), [...world.contents.values()]])).not.toContain(CANARY);
    expect(world.told()).toContain("SECRET_VALUES_REFUSED");
  });
});

describe("a Secret with the values of the configuration", () => {
  const secret = { name: "cfg-x", data: { A: Buffer.from(CANARY).toString("base64") } };

  test("is made before the content that names it, and the values are in nothing else", async () => {
    world.rendered = { ok: true, objects, configHash: "c".repeat(64), secret };
    await world.answer();
    expect(world.inputs[0]?.secretSalt).toBe(SALT);
    expect(world.made).toEqual([`Secret cfg-x of ${DEPLOYMENT}`, "ReleaseContent", "Rollout"]);
    const seen = JSON.stringify([...world.contents.values(), ...world.rollouts.values(), world.told()]);
    expect(seen).not.toContain(CANARY);
    expect(seen).not.toContain(secret.data.A);
  });

  test("that the cluster does not take fails the release, and nothing names it", async () => {
    world.rendered = { ok: true, objects, configHash: "c".repeat(64), secret };
    world.secretRefusal = stored("PREFLIGHT_CHECKS_FAILED", "the cluster takes no Secret");
    await world.answer();
    expect(world.made).toEqual([`Secret cfg-x of ${DEPLOYMENT}`]);
    expect(world.told()).toContain("takes no Secret");
  });

  test("is not made by an agent that has lost the lease", async () => {
    world.rendered = { ok: true, objects, configHash: "c".repeat(64), secret };
    world.afterRender = () => {
      world.isLeased = false;
    };
    await world.answer();
    expect(world.made).toEqual([]);
  });
});

describe("a release that cannot be asked for fails, and says why:", () => {
  test.each<[string, (it: World) => Parameters<World["answer"]>[0], string]>([
    [
      "no objects can be made of it",
      (it) => {
        const problems = [1, 2].map((each) => ({
          path: `resources.${each}`,
          message: "is odd",
          code: "STACK_INVALID" as const,
        }));
        it.rendered = { ok: false, problems };
        return {};
      },
      "PREFLIGHT_CHECKS_FAILED: no objects can be made of the release: resources.1 is odd, and 1 more",
    ],
    [
      "the target cannot be read",
      () => ({ target: { ...target, config: { ...config, inputValues: 1 } } }),
      "PREFLIGHT_CHECKS_FAILED: the target cannot be read: config.inputValues must be object",
    ],
    [
      "it has no stack",
      () => ({ target: { ...target, releaseInfo: { releaseId: RELEASE } } }),
      "PREFLIGHT_CHECKS_FAILED: no objects can be made of the release: the release has no stack for Kubernetes",
    ],
    [
      "it has no objects",
      (it) => {
        it.rendered = { ok: true, objects: [], configHash: "c".repeat(64) };
        return {};
      },
      "PREFLIGHT_CHECKS_FAILED: the release has no objects to install",
    ],
    [
      "no namespace of it is opened",
      () => ({ namespaces: [] }),
      "PREFLIGHT_CHECKS_FAILED: no objects can be made of the release: none of the namespaces",
    ],
    [
      "the API server takes no such object",
      (it) => {
        it.refuseWith = kubeError(422, "Invalid", "spec.objects: too many");
        return {};
      },
      "PREFLIGHT_CHECKS_FAILED: the cluster takes no such release: spec.objects: too many",
    ],
    [
      "another object has the name",
      (it) => {
        it.rollouts.set(`duop-${"1".repeat(28)}`, {
          metadata: { name: "x" },
          spec: { rolloutId: "duop_other", deploymentId: "dep_other" },
        } as never);
        it.isShown = false;
        return {};
      },
      `PREFLIGHT_CHECKS_FAILED: the cluster has another object with the name duop-${"1".repeat(28)}`,
    ],
  ])("%s", async (_, prepare, message) => {
    expect(await world.answer(prepare(world))).toBe(0);
    expect(world.told()).toContain(`update-failed ${message}`);
  });

  test("a rollout that waits for the customer's word ends by one that names no content; one that runs does not", async () => {
    const waits = { metadata: { name: "a" }, spec: { rolloutId: "a", deploymentId: DEPLOYMENT } };
    const runs = { ...waits, status: { state: "Applying", startedAt: AT } };
    world.rendered = { ok: true, objects: [], configHash: "c".repeat(64) };
    world.rollouts.set("a", runs as never);
    await world.answer();
    expect(world.made).toEqual([]);
    const again = new World();
    again.rendered = world.rendered;
    again.rollouts.set("a", { ...waits, status: { state: "AwaitingApproval" } } as never);
    expect(await again.answer()).toBe(0);
    expect(again.made).toEqual(["Rollout"]);
    const ends = again.rollouts.get(`duop-${"1".repeat(28)}`);
    expect(ends).toMatchObject({
      spec: { action: "install", version: "1.4.0", contentName: expect.stringMatching(/^rel-/) },
    });
    expect(again.contents.has(ends?.spec.contentName ?? "")).toBe(false);
    expect(again.told()).toContain("update-failed PREFLIGHT_CHECKS_FAILED: the release has no objects to install");
  });

  test("a deletion needs no release and no target that can be read", async () => {
    const wanted = { ...NOTHING_WANTED, deleteAction: "cleanup" as const };
    world.rollouts.set("a", { metadata: { name: "a" }, spec: { rolloutId: "a", deploymentId: DEPLOYMENT } } as never);
    await world.answer({ record: { ...record, status: "deleting", wanted }, target: { releaseInfo: 1 } });
    expect(world.rollouts.get(`delete-${DEPLOYMENT.replace("_", "-")}`)).toMatchObject({ spec: { action: "delete" } });
    expect(world.contents.size).toBe(0);
  });
});

describe("a platform beyond all bounds", () => {
  test("has nothing made while there is no room, and is told so; later it is", async () => {
    world.full = "at most 4 of this deployment may be open";
    expect(await world.answer()).toBe(0);
    expect(await world.answer()).toBeUndefined();
    expect(world.made).toEqual([]);
    expect(world.told()).toBe(
      "update-pending TOO_MANY_ROLLOUTS: the cluster has no room for it yet: of releases at most 4 of this deployment may be open",
    );
    world.full = undefined;
    await world.answer();
    expect(world.told()).toBe("update-pending");
  });
  test("that wants another release each second has ten a minute", async () => {
    for (let second = 0; second < 60; second += 1) {
      const operation = { id: `duop_${String(second).padStart(28, "0")}`, releaseId: RELEASE, requestedAt: AT };
      await world.answer({ record: { ...record, wanted: { ...record.wanted, operation } } });
      world.clock.advance(1_000);
    }
    expect(world.rollouts.size).toBe(10);
  });
});
