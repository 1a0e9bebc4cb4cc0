import fc from "fast-check";
import { expect, it } from "vitest";
import { FEWEST_WALKS, runs } from "../../../base/testing/runs.ts";
import { DEPLOYMENT_STATUSES, type DeploymentStatus } from "../../../contract/deployments/deployment-state.ts";
import { type Answer, onEachDatabase } from "../../testing/harness.ts";
import { newSite, type Site } from "./testing/site.ts";

// The routes against a naive twin that keeps §24.4 as a list of arrows: managers report, people retry, redeploy and delete,
// in random order; what is refused is a 409 and leaves everything as it was. The pure rules have a twin in status.test.ts;
// here it is the whole way, from the wire to the row.

const arrows = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));
/** Of a pull deployment. */
const REPORTS = arrows(`
  pending>initial-setup pending>preflights-failed pending>running pending>initial-setup-failed pending>provisioning-failed
  initial-setup>provisioning initial-setup>initial-setup-failed initial-setup>running initial-setup>provisioning-failed
  provisioning>running provisioning>waiting-for-machines provisioning>provisioning-failed
  waiting-for-machines>provisioning waiting-for-machines>updating waiting-for-machines>running
  waiting-for-machines>provisioning-failed waiting-for-machines>update-failed
  running>update-pending running>refresh-failed refresh-failed>running refresh-failed>update-pending
  update-pending>updating update-pending>update-failed update-pending>running
  updating>running updating>waiting-for-machines updating>update-failed
  delete-pending>deleting delete-pending>deleted delete-pending>teardown-required delete-pending>delete-failed
  deleting>deleted deleting>teardown-required deleting>delete-failed
  teardown-required>deleted teardown-required>teardown-failed`);
const RETRIES: Partial<Readonly<Record<DeploymentStatus, DeploymentStatus>>> = {
  "preflights-failed": "pending",
  "initial-setup-failed": "initial-setup",
  "provisioning-failed": "provisioning",
  "refresh-failed": "update-pending",
  "update-failed": "update-pending",
  "delete-failed": "deleting",
  "teardown-failed": "teardown-required",
};
const ENDING: readonly string[] = [
  "delete-pending",
  "deleting",
  "delete-failed",
  "teardown-required",
  "teardown-failed",
  "deleted",
];
const ACTIONS = ["cleanup", "detach", "forget"] as const;

interface Twin {
  status: DeploymentStatus;
  retrying: boolean;
  action: string | undefined;
}
interface Real {
  readonly site: Site;
  readonly id: string;
  readonly seen: Set<string>;
}

abstract class Step implements fc.AsyncCommand<Twin, Real> {
  check = () => true;
  /** Undefined: refused. */
  abstract expected(twin: Twin): DeploymentStatus | undefined;
  abstract send(real: Real): Promise<Answer>;
  abstract toString(): string;
  readonly refusal: string = "INVALID_STATE_TRANSITION";

  async run(twin: Twin, real: Real): Promise<void> {
    const next = this.expected(twin);
    const answer = await this.send(real);
    const about = `${this} at ${twin.status}: ${JSON.stringify(answer.body)}`;
    if (next === undefined) expect([answer.status, answer.body.code], about).toEqual([409, this.code(twin)]);
    else expect(answer.status, about).toBeLessThan(300);
    if (next !== undefined) this.apply(twin, next);
    const { body } = await real.site.call("GET", `/v1/deployments/${real.id}`);
    expect([body.status, body.retryRequested], about).toEqual([twin.status, twin.retrying]);
    real.seen.add(twin.status);
  }

  code(_: Twin): string {
    return "INVALID_STATE_TRANSITION";
  }

  apply(twin: Twin, next: DeploymentStatus): void {
    if (next !== twin.status) twin.retrying = false;
    twin.status = next;
  }
}

class Report extends Step {
  readonly to: DeploymentStatus;
  constructor(to: DeploymentStatus) {
    super();
    this.to = to;
  }
  toString = () => `report ${this.to}`;
  send = ({ site, id }: Real) => site.report(id, this.to);
  expected({ status, retrying }: Twin): DeploymentStatus | undefined {
    // Old news of a deployment that is ending is taken, and changes nothing.
    if (ENDING.includes(status) && !ENDING.includes(this.to)) return status;
    const retried = retrying ? RETRIES[status] : undefined;
    const from = [status, ...(retried === undefined ? [] : [retried])];
    const legal = from.some((each) => each === this.to || REPORTS.has(`${each}>${this.to}`));
    if (legal || (this.to === "error" && status !== "deleted")) return this.to;
    return undefined;
  }
}

class Retry extends Step {
  toString = () => "retry";
  send = ({ site, id }: Real) => site.call("POST", `/v1/deployments/${id}/retry`);
  expected = ({ status }: Twin) => (RETRIES[status] === undefined ? undefined : status);
  override apply(twin: Twin): void {
    twin.retrying = true;
  }
}

class Redeploy extends Step {
  toString = () => "redeploy";
  send = ({ site, id }: Real) => site.call("POST", `/v1/deployments/${id}/redeploy`);
  expected = ({ status }: Twin) =>
    status === "running" || status === "refresh-failed" ? ("update-pending" as const) : undefined;
}

class Delete extends Step {
  readonly action: (typeof ACTIONS)[number];
  constructor(action: Delete["action"]) {
    super();
    this.action = action;
  }
  toString = () => this.action;
  send = ({ site, id }: Real) => site.call("POST", `/v1/deployments/${id}/delete`, { body: { action: this.action } });
  expected({ status, action }: Twin): DeploymentStatus | undefined {
    if (this.action === "forget" && status !== "deleted") return "deleted";
    if (!ENDING.includes(status) || status === "delete-failed") return "delete-pending";
    return action === this.action ? status : undefined;
  }
  override code = ({ status }: Twin) => (status === "deleted" ? "INVALID_STATE_TRANSITION" : "DELETE_CONFLICT");
  override apply(twin: Twin, next: DeploymentStatus): void {
    super.apply(twin, next);
    twin.action = this.action;
  }
}

const reports = DEPLOYMENT_STATUSES.map((to) => new Report(to));
/** A walk that always ends is short: deletes come seldom. */
const STEPS = [
  fc.constantFrom(...reports),
  fc.constantFrom(...reports),
  fc.constantFrom(...reports.filter(({ to }) => !ENDING.includes(to) && to !== "error")),
  fc.constant(new Retry()),
  fc.constant(new Redeploy()),
  fc.constantFrom(...ACTIONS.slice(0, 2)).map((action) => new Delete(action)),
];
const along = (...path: DeploymentStatus[]): Step[] => path.map((to) => new Report(to));
/** The long ways, which chance does not take in every run. */
const WAYS: readonly (readonly Step[])[] = [
  [...along("initial-setup", "provisioning", "waiting-for-machines", "running", "refresh-failed", "running")],
  [
    ...along("running"),
    new Redeploy(),
    ...along("updating", "update-failed"),
    new Retry(),
    ...along("updating", "running"),
  ],
  [
    ...along("preflights-failed"),
    new Retry(),
    ...along("initial-setup-failed"),
    new Retry(),
    ...along("provisioning-failed"),
  ],
  [
    ...along("running"),
    new Delete("cleanup"),
    ...along("deleting", "delete-failed"),
    new Retry(),
    ...along("deleting"),
  ],
  [
    new Delete("detach"),
    ...along("teardown-required", "teardown-failed"),
    new Retry(),
    ...along("deleted"),
    new Delete("forget"),
  ],
  [...along("error"), new Delete("forget"), new Delete("forget"), new Delete("cleanup")],
];

onEachDatabase("a deployment's life", (world) => {
  it("is the same for the routes and for the naive twin", { timeout: 240_000 }, async () => {
    const site = await newSite(world, 1000);
    const seen = new Set<string>();
    let made = 0;
    const walk = async (steps: Iterable<fc.AsyncCommand<Twin, Real>>): Promise<void> => {
      made += 1;
      const id = await site.deploy(`walk-${made}`);
      const model: Twin = { status: "pending", retrying: false, action: undefined };
      await fc.asyncModelRun(() => ({ model, real: { site, id, seen } }), steps);
    };
    for (const way of WAYS) await walk(way);
    expect([...seen].toSorted()).toEqual(DEPLOYMENT_STATUSES.filter((each) => each !== "pending").toSorted());
    await fc.assert(fc.asyncProperty(fc.commands(STEPS, { maxCommands: 25, size: "max" }), walk), {
      numRuns: runs(20, FEWEST_WALKS),
    });
  });
});
