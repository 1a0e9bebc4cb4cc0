import { expect, test } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { DEFAULT_NAMES } from "../../crds/group.ts";
import {
  admissionPolicies,
  DECISION_POLICIES,
  MUTATING_POLICIES,
  VALIDATING_POLICIES,
} from "../../crds/manifests/admission/admission.ts";
import type { Client } from "../../kube/client/client.ts";
import type { Resource } from "../../kube/objects/resource.ts";
import { AdmissionWatch } from "../admission/admission-watch.ts";
import { refusal } from "../testing/fake-cluster.ts";
import { type AdmissionMode, type PolicyReading, readEnforcement } from "./enforcement.ts";

const signal = new AbortController().signal;
const ALL = [...VALIDATING_POLICIES, ...MUTATING_POLICIES];
const STAMPERS: readonly string[] = [...MUTATING_POLICIES, "sallyport-named-decisions"];

interface World {
  /** `kind/name` of what is not there. */
  readonly missing?: readonly string[];
  readonly ages?: Readonly<Record<string, string>>;
  readonly actions?: readonly string[];
  readonly boundTo?: string;
  readonly stamps?: boolean;
}

function server({
  missing = [],
  ages = {},
  actions = ["Deny"],
  boundTo,
  stamps = true,
}: World): Pick<Client, "get" | "rawGet"> {
  const get = async ({ kind }: Resource, { name }: { name: string }): Promise<unknown> => {
    if (missing.some((each) => each === `${kind}/${name}` || each === name || each === kind)) return undefined;
    const isBinding = kind.endsWith("Binding");
    const spec = isBinding
      ? { policyName: boundTo ?? name, ...(kind.startsWith("Validating") && { validationActions: actions }) }
      : {};
    const creationTimestamp = ages[`${kind}/${name}`] ?? "2026-01-01T08:00:00Z";
    return { apiVersion: "v1", kind, metadata: { name, uid: "u", resourceVersion: "1", creationTimestamp }, spec };
  };
  return {
    get: get as Client["get"],
    rawGet: async () => JSON.stringify({ resources: stamps ? [{ name: "mutatingadmissionpolicies" }] : [] }),
  };
}

const read = async (world: World, mode: AdmissionMode = "stamping"): Promise<unknown> =>
  (await readEnforcement(server(world), mode, signal)).enforcement;
const EIGHT = new Date("2026-01-01T08:00:00Z");

test.each<readonly [string, World, object]>([
  ["everything is there", {}, { kind: "stamped", since: EIGHT }],
  [
    "a binding is younger than its policy",
    { ages: { "ValidatingAdmissionPolicyBinding/sallyport-plan-hygiene": "2026-01-01T09:00:00Z" } },
    { kind: "stamped", since: new Date("2026-01-01T09:00:00Z") },
  ],
  [
    "a policy that is not about grants came with an upgrade",
    { ages: { "ValidatingAdmissionPolicy/sallyport-own-leases": "2026-01-01T09:00:00Z" } },
    { kind: "stamped", since: EIGHT },
  ],
  [
    "a policy is missing",
    { missing: ["sallyport-plan-hygiene"] },
    { kind: "none", missing: ["sallyport-plan-hygiene"] },
  ],
  [
    "only a binding is missing",
    { missing: ["ValidatingAdmissionPolicyBinding/sallyport-result-size"] },
    { kind: "none", missing: ["sallyport-result-size"] },
  ],
  [
    "a stamper is missing",
    { missing: ["sallyport-stamp-decider"] },
    { kind: "none", missing: ["sallyport-stamp-decider"] },
  ],
  ["bindings only warn", { actions: ["Warn", "Audit"] }, { kind: "none", missing: [...VALIDATING_POLICIES] }],
  ["bindings are of another policy", { boundTo: "other" }, { kind: "none", missing: [...ALL] }],
  [
    "the server cannot stamp",
    { stamps: false, missing: [...MUTATING_POLICIES, "sallyport-named-decisions"] },
    { kind: "checked", since: EIGHT },
  ],
  [
    "the server cannot stamp, and the check of names is missing too",
    { stamps: false, missing: [...MUTATING_POLICIES, "sallyport-named-decisions", "sallyport-grant-decisions"] },
    { kind: "none", missing: ["sallyport-grant-decisions"] },
  ],
])("%s", async (_, world, enforcement) => {
  expect(await read(world)).toEqual(enforcement);
});

test("the policies whose age counts for a decision are those that see access grants", () => {
  const seeing = admissionPolicies(DEFAULT_NAMES).filter((policy) => {
    const spec = policy.spec as { matchConstraints?: { resourceRules: readonly { resources: readonly string[] }[] } };
    return spec.matchConstraints?.resourceRules.some(({ resources }) => resources.includes("accessgrants")) === true;
  });
  expect(seeing.map(({ metadata }) => metadata.name).sort()).toEqual([...DECISION_POLICIES].sort());
});

test("presence is told of each policy, for the metric", async () => {
  const { presence } = await readEnforcement(server({ missing: ["sallyport-stamp-decider"] }), "stamping", signal);
  expect(Object.keys(presence).sort()).toEqual([...ALL].sort());
  expect(Object.entries(presence).filter(([, there]) => !there)).toEqual([["sallyport-stamp-decider", false]]);
});

test.each<readonly [AdmissionMode, World, boolean]>([
  ["stamping", {}, true],
  ["stamping", { missing: STAMPERS }, true],
  ["stamping", { missing: STAMPERS, stamps: false }, false],
  ["validating-only", {}, false],
  ["validating-only", { missing: STAMPERS }, false],
])("with %s and %j, stampers are required: %s; every other policy always is", async (mode, world, stampers) => {
  const { required } = await readEnforcement(server(world), mode, signal);
  expect(required).toEqual(Object.fromEntries(ALL.map((name) => [name, stampers || !STAMPERS.includes(name)])));
});

test("without the right to look, nothing is vouched for and the operator goes on", async () => {
  const forbidden = { ...server({}), get: async () => Promise.reject(refusal(403, "Forbidden")) };
  const { enforcement, presence, required } = await readEnforcement(forbidden, "stamping", signal);
  expect(enforcement).toEqual({ kind: "unseen" });
  expect(Object.values(presence)).toEqual(ALL.map(() => false));
  // Each of them is missing for all that the operator knows: the alert fires.
  expect(Object.values(required)).toEqual(ALL.map(() => true));
});

test("where the right to look was left out on purpose, no read is tried", async () => {
  const never = async (): Promise<never> => Promise.reject(new Error("nothing is to be read"));
  const reading = await readEnforcement({ get: never, rawGet: never }, "unseen", signal);
  expect(reading).toEqual({ enforcement: { kind: "unseen" }, presence: {}, required: {}, missing: [] });
});

test("it is looked at again and again; a look that fails leaves the last one standing", async () => {
  const clock = new FakeClock();
  let answer: World | "broken" = {};
  const asked = (): Pick<Client, "get" | "rawGet"> => {
    if (answer === "broken") throw refusal(503, "ServiceUnavailable");
    return server(answer);
  };
  const client: Pick<Client, "get" | "rawGet"> = {
    get: (...args) => asked().get(...args),
    rawGet: (...args) => asked().rawGet(...args),
  };
  const presences: number[] = [];
  const metrics = {
    policies: ({ presence }: PolicyReading) => void presences.push(Object.values(presence).filter(Boolean).length),
  };
  const often = { everyMs: 30_000, settleMs: 20_000 };
  const watch = new AdmissionWatch({ client, clock, log: silentLogger, metrics, mode: "stamping", ...often });
  expect(() => watch.current).toThrow("not been looked at");
  let changes = 0;
  watch.onChange(() => {
    changes += 1;
  });
  const stop = new AbortController();
  const done = watch.run(stop.signal);
  await watch.whenSynced(signal);
  const idle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  };
  await idle();
  expect([watch.current.kind, changes, presences]).toEqual(["stamped", 1, [ALL.length]]);
  // API servers enforce them a while after they are there.
  expect(watch.current).toMatchObject({ since: new Date("2026-01-01T08:00:20Z") });
  answer = "broken";
  clock.advance(30_000);
  await idle();
  expect([watch.current.kind, changes]).toEqual(["stamped", 1]);
  answer = { missing: ["sallyport-grant-decisions"] };
  clock.advance(1_000);
  await idle();
  expect([watch.current.kind, changes, presences]).toEqual(["none", 2, [ALL.length, ALL.length - 1]]);
  // As while helm installs: what is missing is looked for soon, and later and later.
  clock.advance(1_000);
  await idle();
  expect(presences).toHaveLength(3);
  answer = {};
  clock.advance(1_999);
  await idle();
  expect(presences).toHaveLength(3);
  clock.advance(1);
  await idle();
  expect([watch.current.kind, presences.length]).toEqual(["stamped", 4]);
  clock.advance(29_999);
  await idle();
  expect(presences).toHaveLength(4);
  stop.abort();
  await done;
  expect(clock.pending).toBe(0);
});

test("a wait for the first look ends when its signal aborts", async () => {
  const options = {
    client: server({}),
    clock: new FakeClock(),
    log: silentLogger,
    everyMs: 1,
    settleMs: 0,
    mode: "stamping" as const,
    metrics: { policies: () => undefined },
  };
  await expect(new AdmissionWatch(options).whenSynced(AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
});

test("who chose to go without stampers misses none, on a server that could stamp; a missing check is missed all the same", async () => {
  const chosen = [...MUTATING_POLICIES, "sallyport-named-decisions"];
  expect(await read({ missing: chosen }, "validating-only")).toEqual({ kind: "checked", since: EIGHT });
  expect(await read({ missing: chosen })).toEqual({ kind: "none", missing: expect.arrayContaining(chosen) });
  const broken = [...chosen, "sallyport-grant-decisions"];
  expect(await read({ missing: broken }, "validating-only")).toEqual({
    kind: "none",
    missing: ["sallyport-grant-decisions"],
  });
  expect(await read({}, "validating-only")).toEqual({ kind: "stamped", since: EIGHT });
});
