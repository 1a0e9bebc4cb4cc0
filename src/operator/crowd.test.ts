import { expect, test } from "vitest";
import type { AccessGrant } from "../crds/access-grant.ts";
import { MAX_OPEN } from "../crds/open-cap.ts";
import type { OperationInvocation } from "../crds/operation-invocation.ts";
import { crowdedBecause } from "./crowd.ts";

type State = string | undefined;
const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
const named = (name: string, second: number, state: State, spec: object) =>
  ({ metadata: { name, creationTimestamp: at(second) }, spec, ...(state && { status: { state } }) }) as unknown;
const command = (second: number, state?: State, deploymentId = "dep-1") =>
  named(`cmd-${deploymentId}-${second}`, second, state, { deploymentId }) as OperationInvocation;
const grant = (second: number, state: State = "Approved", deploymentId = "dep-1") =>
  named(`ar-${deploymentId}-${second}`, second, state, { deploymentId, approvedForMinutes: 5 }) as AccessGrant;
const times = <T>(count: number, each: (at: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => each(i));
const { ofDeployment, inAll } = MAX_OPEN;

test("the oldest of a deployment are served, each next one when one of them ends", () => {
  const invocations = times(400, (second) => command(second));
  const served = (all: readonly OperationInvocation[]) =>
    all.filter((each) => crowdedBecause(each, undefined, { invocations: all, grants: [] }) === undefined);
  expect(served(invocations)).toEqual(invocations.slice(0, ofDeployment));
  const [first, ...rest] = invocations;
  const ended = [command(0, "Succeeded"), ...rest];
  expect(first).toBeDefined();
  expect(served(ended).slice(1)).toEqual(invocations.slice(1, ofDeployment + 1));
});

test("one deployment leaves room for the others, all together have a bound too", () => {
  const theirs = times(400, (second) => command(second));
  const mine = command(1_000, undefined, "dep-2");
  expect(crowdedBecause(mine, undefined, { invocations: theirs.slice(0, inAll - 1), grants: [] })).toBeUndefined();
  expect(crowdedBecause(mine, undefined, { invocations: theirs, grants: [] })).toContain("in this cluster");
});

test("of approved grants the oldest are served; those that nobody approved take no room", () => {
  const older = times(ofDeployment, (second) => grant(second));
  const world = (grants: readonly AccessGrant[]) => ({ invocations: [], grants });
  expect(crowdedBecause(command(99), grant(60), world(older))).toContain("older approved grants");
  expect(crowdedBecause(command(99), older[3], world(older))).toBeUndefined();
  const pending = older.map((each) => ({ ...each, spec: { deploymentId: "dep-1" } }) as AccessGrant);
  expect(crowdedBecause(command(99), grant(60), world(pending))).toBeUndefined();
});
