import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import type { SubjectRules } from "../client/access-reviews.ts";
import { ApiError } from "../client/api-error.ts";
import { type AccessChange, AccessWatch } from "./access-watch.ts";
import { missingAccess, type RequiredAccess } from "./required-access.ts";

const signal = new AbortController().signal;
const need = (verb: string, resource: string, more: Partial<RequiredAccess> = {}): RequiredAccess => ({
  verb,
  group: "",
  resource,
  namespace: "shop",
  ...more,
});

class Authorizer {
  rules: SubjectRules["resourceRules"] = [];
  incomplete = false;
  /** What only a direct question brings to light. */
  allowed: readonly string[] = [];
  asked: string[] = [];
  failure: ApiError | undefined;

  selfSubjectRulesReview = async (namespace: string): Promise<SubjectRules> => {
    if (this.failure !== undefined) throw this.failure;
    this.asked.push(`rules ${namespace}`);
    return { resourceRules: this.rules, nonResourceRules: [], incomplete: this.incomplete };
  };

  selfSubjectAccessReview = async (attributes: object): Promise<boolean> => {
    const { verb, resource, subresource, name } = attributes as Record<string, string | undefined>;
    const question = [verb, resource, subresource, name].filter(Boolean).join(" ");
    this.asked.push(question);
    return this.allowed.includes(question);
  };
}

test.each([
  [need("list", "pods"), [{ verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] }], true],
  [need("list", "pods"), [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }], true],
  [need("list", "pods"), [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }], false],
  [need("list", "pods"), [{ verbs: ["list"], apiGroups: ["apps"], resources: ["pods"] }], false],
  [need("list", "pods"), [{ verbs: ["list"], apiGroups: [""], resources: ["pods/log"] }], false],
  [need("list", "pods"), [{ verbs: ["list"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"] }], false],
  [
    need("get", "pods", { name: "a" }),
    [{ verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"] }],
    true,
  ],
  [
    need("get", "pods", { name: "b" }),
    [{ verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"] }],
    false,
  ],
  [need("get", "pods", { name: "b" }), [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }], true],
] as const)("%j under %j: %s", async (required, rules, isThere) => {
  const authorizer = new Authorizer();
  authorizer.rules = rules;
  expect(await missingAccess(authorizer, [required], signal)).toEqual(isThere ? [] : [required]);
});

test("one question a namespace, and one for each right that an authorizer may have left out", async () => {
  const authorizer = new Authorizer();
  authorizer.rules = [{ verbs: ["list"], apiGroups: [""], resources: ["pods"] }];
  authorizer.incomplete = true;
  authorizer.allowed = ["get pods log"];
  const required = [
    need("list", "pods"),
    need("get", "pods/log"),
    need("watch", "pods"),
    need("list", "pods", { namespace: "b" }),
  ];
  expect(await missingAccess(authorizer, required, signal)).toEqual([need("watch", "pods")]);
  expect(authorizer.asked).toEqual(["rules shop", "get pods log", "watch pods", "rules b"]);
});

test("a right that goes and comes back is told once each, and a failed look changes nothing", async () => {
  const authorizer = new Authorizer();
  const changes: AccessChange<RequiredAccess>[] = [];
  const watch = new AccessWatch({
    client: authorizer,
    clock: new FakeClock("2026-01-01T00:00:00Z"),
    log: silentLogger,
    required: () => [need("list", "pods")],
    everyMs: 1_000,
  });
  watch.onChange((change) => changes.push(change));
  await watch.look(signal);
  await watch.look(signal);
  authorizer.failure = new ApiError("away", { status: 503, reason: "ServiceUnavailable" });
  await expect(watch.look(signal)).rejects.toThrow("away");
  expect(watch.missing).toEqual([need("list", "pods")]);
  authorizer.failure = undefined;
  authorizer.rules = [{ verbs: ["list"], apiGroups: [""], resources: ["pods"] }];
  await watch.look(signal);
  await watch.look(signal);
  expect(changes).toEqual([
    { lost: [need("list", "pods")], regained: [] },
    { lost: [], regained: [need("list", "pods")] },
  ]);
});

const LIST_PODS = [{ verbs: ["list"], apiGroups: [""], resources: ["pods"] }];

test("a loss is believed once it has lasted: an API server that has just started grants nothing", async () => {
  const authorizer = new Authorizer();
  authorizer.rules = LIST_PODS;
  const clock = new FakeClock("2026-01-01T00:00:00Z");
  const required = () => [need("list", "pods")];
  const watch = new AccessWatch({ client: authorizer, clock, log: silentLogger, required, everyMs: 60_000 });
  const changes: AccessChange<RequiredAccess>[] = [];
  watch.onChange((change) => changes.push(change));
  await watch.look(signal);
  authorizer.rules = [];
  await watch.look(signal);
  clock.advance(9_999);
  await watch.look(signal);
  authorizer.rules = LIST_PODS;
  await watch.look(signal);
  authorizer.rules = [];
  clock.advance(1);
  await watch.look(signal);
  expect([watch.missing, changes]).toEqual([[], []]);
  clock.advance(10_000);
  await watch.look(signal);
  expect(changes).toEqual([{ lost: [need("list", "pods")], regained: [] }]);
});

test("where a right is missing it looks every few seconds, and at the rest in its interval", async () => {
  const authorizer = new Authorizer();
  authorizer.rules = LIST_PODS;
  const clock = new FakeClock("2026-01-01T00:00:00Z");
  const required = () => [need("list", "pods"), need("list", "nodes", { namespace: "b" })];
  const common = { client: authorizer, clock, log: silentLogger, required, everyMs: 60_000, random: () => 1 };
  const watch = new AccessWatch(common);
  const stop = new AbortController();
  const running = watch.run(stop.signal);
  const after = async (ms: number): Promise<readonly string[]> => {
    authorizer.asked = [];
    clock.advance(ms);
    await nextTurn();
    return authorizer.asked;
  };
  await nextTurn();
  expect(await after(9_999)).toEqual([]);
  expect(await after(1)).toEqual(["rules b"]);
  authorizer.rules = [...LIST_PODS, { verbs: ["list"], apiGroups: [""], resources: ["nodes"] }];
  expect(await after(10_000)).toEqual(["rules b"]);
  expect(watch.missing).toEqual([]);
  expect(await after(39_999)).toEqual([]);
  expect(await after(1)).toEqual(["rules shop", "rules b"]);
  stop.abort(new Error("over"));
  await running;
});

test("the wait for the first look ends also when looking is refused", async () => {
  const authorizer = new Authorizer();
  authorizer.failure = new ApiError("no", { status: 403, reason: "Forbidden" });
  const stop = new AbortController();
  const watch = new AccessWatch({
    client: authorizer,
    clock: new FakeClock("2026-01-01T00:00:00Z"),
    log: silentLogger,
    required: () => [],
    everyMs: 1_000,
  });
  const running = watch.run(stop.signal);
  await watch.whenSynced(signal);
  stop.abort(new Error("over"));
  await running;
  expect(watch.missing).toEqual([]);
});
