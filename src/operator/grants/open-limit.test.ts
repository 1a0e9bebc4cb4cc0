import { expect, test } from "vitest";
import type { AccessGrant } from "../../crds/kinds/access-grant.ts";
import { MAX_OPEN } from "../../crds/kinds/open-cap.ts";
import { OpenObjects } from "../../crds/kinds/open-objects.ts";
import type { OperationInvocation } from "../../crds/kinds/operation-invocation.ts";
import { isApproved, limitReached } from "./open-limit.ts";

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

/** What the caches show, told in this order. */
function world(invocations: readonly OperationInvocation[], grants: readonly AccessGrant[] = []) {
  const openInvocations = new OpenObjects<OperationInvocation>();
  const approvedGrants = new OpenObjects<AccessGrant>(isApproved);
  for (const object of invocations) openInvocations.changed({ type: "added", object });
  for (const object of grants) approvedGrants.changed({ type: "added", object });
  return { openInvocations, approvedGrants };
}

test("the oldest of a deployment are served, each next one when one of them ends", () => {
  const invocations = times(400, (second) => command(second));
  const served = (all: readonly OperationInvocation[]) => {
    const shown = world(all.toReversed());
    return all.filter((each) => limitReached(each, undefined, shown) === undefined);
  };
  expect(served(invocations)).toEqual(invocations.slice(0, ofDeployment));
  const [first, ...rest] = invocations;
  const ended = [command(0, "Succeeded"), ...rest];
  expect(first).toBeDefined();
  expect(served(ended).slice(1)).toEqual(invocations.slice(1, ofDeployment + 1));
});

test("one deployment leaves room for the others, all together have a bound too", () => {
  const theirs = times(400, (second) => command(second));
  const mine = command(1_000, undefined, "dep-2");
  expect(limitReached(mine, undefined, world(theirs.slice(0, inAll - 1)))).toBeUndefined();
  expect(limitReached(mine, undefined, world(theirs))).toContain("in this cluster");
});

test("of approved grants the oldest are served; those without an approval take no room", () => {
  const older = times(ofDeployment, (second) => grant(second));
  expect(limitReached(command(99), grant(60), world([], older))).toContain("older approved grants");
  expect(limitReached(command(99), older[3], world([], older))).toBeUndefined();
  const pending = older.map((each) => ({ ...each, spec: { deploymentId: "dep-1" } }) as AccessGrant);
  expect(limitReached(command(99), grant(60), world([], pending))).toBeUndefined();
});

/** A look at an object, counted: a clock would judge the machine. */
test("what waits is judged by a few looks at others, however many an agent has made and in whatever order they came", () => {
  let looks = 0;
  const counted = (second: number, state?: State) => {
    const { metadata, ...rest } = command(second, state, `dep-${second % 3}`);
    return {
      ...rest,
      get metadata() {
        looks += 1;
        return metadata;
      },
    } as OperationInvocation;
  };
  const shown = world([...times(10_000, (n) => counted(n, "Succeeded")), ...times(10_000, (n) => counted(20_000 - n))]);
  looks = 0;
  expect(limitReached(counted(30_000), undefined, shown)).toContain("older commands go first");
  expect(limitReached(counted(10_001), undefined, shown)).toBeUndefined();
  expect(looks).toBeLessThan(200);
});
