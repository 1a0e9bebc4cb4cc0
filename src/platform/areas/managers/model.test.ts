import fc from "fast-check";
import { expect } from "vitest";
import { DEPLOYMENT_STATUSES, type DeploymentStatus } from "../../../contract/deployments/deployment-state.ts";
import { type Answer, OWN_PLATFORM, onEachDatabase } from "../../testing/harness.ts";
import { type ModelReal, ModelStep, tellTheSame, Wait } from "../../testing/model-step.ts";
import { canRetry, isDeletePhase, nextStatus } from "../deployments/lifecycle/status.ts";
import { beginSetup, HOUR_MS, type Model, move, ownBecomes, shown } from "./testing/twin.ts";

// The routes against a naive twin that keeps §9 and §14.5 in the plainest words: admins, whoever sets up, the manager and
// time do random things in random order. How a deployment moves has a twin of its own (deployments/model.test.ts).

interface Real extends ModelReal<Model> {
  readonly admin: string;
  readonly path: string;
  token: string;
  key: string;
  deploymentId: string;
}

abstract class Step extends ModelStep<Model, Real> {
  admin({ world, admin, path }: Real, method: string, verb = ""): Promise<Answer> {
    return world.call(method, `${path}${verb}`, { key: admin });
  }

  illegal(answer: Answer): Answer {
    return this.refused(answer, 409, "INVALID_STATE_TRANSITION");
  }

  accepted(answer: Answer, status: number): Answer {
    expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    return answer;
  }
}

async function agree(real: Real, model: Model): Promise<void> {
  const { world, admin, path, deploymentId } = real;
  const read = (what: string) => world.call("GET", what, { key: admin });
  const manager = await read(path);
  const seen = manager.status === 404 ? "gone" : manager.body.setupStatus;
  expect(seen).toBe(shown(model));
  if (deploymentId !== "") {
    const { status, body } = await read(`/v1/deployments/${deploymentId}`);
    if (model.bootstrapped) expect([body.status, body.retryRequested]).toEqual([model.own.status, model.own.retrying]);
    else expect(status).toBe(404);
  }
  expect((await read("/v1/deployments/stats")).body.total).toBe(0);
}

class Bootstrap extends Step {
  toString = () => "bootstrap";
  async act(model: Model, real: Real): Promise<Answer> {
    const answer = await real.world.call("POST", `${real.path}/bootstrap`, { key: real.token });
    if (model.token.revoked) return this.refused(answer, 401, "API_KEY_REVOKED");
    if (model.nowMs >= model.token.untilMs) return this.refused(answer, 401, "API_KEY_EXPIRED");
    const state = shown(model);
    if (state !== "pending" && state !== "provisioning") return this.illegal(answer);
    this.accepted(answer, 201);
    const { apiKey, deploymentId } = answer.body;
    expect(deploymentId === real.deploymentId).toBe(state === "provisioning");
    if (state === "pending") {
      move(model, "provisioning");
      model.own = { status: "pending", retrying: false };
      model.bootstrapped = true;
    }
    model.keyWorks = true;
    Object.assign(real, { key: apiKey, deploymentId });
    return answer;
  }
}

class SetupToken extends Step {
  toString = () => "setup-token";
  async act(model: Model, real: Real): Promise<Answer> {
    const answer = await this.admin(real, "POST", "/setup-token");
    const state = shown(model);
    if (state === "gone") return this.refused(answer, 404, "NOT_FOUND");
    if (state !== "pending" && state !== "failed") return this.illegal(answer);
    beginSetup(model);
    real.token = this.accepted(answer, 201).body.setupToken;
    return answer;
  }
}

class Retry extends Step {
  toString = () => "retry";
  async act(model: Model, real: Real): Promise<Answer> {
    const answer = await this.admin(real, "POST", "/retry");
    const state = shown(model);
    if (state === "gone") return this.refused(answer, 404, "NOT_FOUND");
    if (state === "pending") {
      beginSetup(model);
      real.token = this.accepted(answer, 200).body.setupToken;
      expect(answer.body.mode).toBe("setup");
      return answer;
    }
    if (state !== "failed" || model.own.status === "error") return this.illegal(answer);
    this.accepted(answer, 200);
    expect(answer.body).toMatchObject({ mode: "deployment", deploymentId: real.deploymentId });
    move(model, "provisioning");
    if (canRetry(model.own.status)) model.own.retrying = true;
    return answer;
  }
}

class Cancel extends Step {
  toString = () => "cancel";
  async act(model: Model, real: Real): Promise<Answer> {
    const answer = await this.admin(real, "POST", "/cancel-setup");
    const state = shown(model);
    if (state === "gone") return this.refused(answer, 404, "NOT_FOUND");
    if (state !== "pending") return this.illegal(answer);
    move(model, "gone");
    model.token.revoked = true;
    if (model.keyWorks) model.keyWorks = false;
    return this.accepted(answer, 202);
  }
}

class Delete extends Step {
  toString = () => "delete";
  async act(model: Model, real: Real): Promise<Answer> {
    const answer = await this.admin(real, "DELETE");
    const state = shown(model);
    if (state === "gone") return this.refused(answer, 404, "NOT_FOUND");
    if (state === "pending" || state === "deleted") return this.illegal(answer);
    if (state !== "deleting") move(model, "deleting");
    model.token.revoked = true;
    const status = nextStatus(model.own.status, { by: "delete", action: "cleanup" });
    if (status !== undefined) ownBecomes(model, status);
    else if (canRetry(model.own.status)) model.own.retrying = true;
    return this.accepted(answer, 202);
  }
}

/** With the last runtime key that there was. */
abstract class Runtime extends Step {
  override check = ({ keyWorks }: Model): boolean => keyWorks !== undefined;
}

class Beat extends Runtime {
  readonly status: string;
  constructor(status: string) {
    super();
    this.status = status;
  }
  toString = () => `beat ${this.status}`;
  async act(model: Model, { world, path, key }: Real): Promise<Answer> {
    const body = { status: this.status, url: "https://manager.example.com", managementConfigs: {} };
    const answer = await world.call("POST", `${path}/heartbeat`, { key, body });
    if (!model.keyWorks) return this.refused(answer, 401, "API_KEY_REVOKED");
    model.heardMs = model.nowMs;
    if (model.setup === "provisioning" && this.status !== "unhealthy") {
      move(model, "active");
      model.token.revoked = true;
    }
    return this.accepted(answer, 200);
  }
}

class Report extends Runtime {
  readonly to: DeploymentStatus;
  constructor(to: DeploymentStatus) {
    super();
    this.to = to;
  }
  toString = () => `report ${this.to}`;
  async act(model: Model, { world, key, deploymentId }: Real): Promise<Answer> {
    const body = { deploymentId, state: { status: this.to, platform: "aws", protocolVersion: 1 } };
    const answer = await world.call("POST", "/v1/sync/reconcile", { key, body });
    if (!model.keyWorks) return this.refused(answer, 401, "API_KEY_REVOKED");
    const { status, retrying } = model.own;
    if (isDeletePhase(status) && !isDeletePhase(this.to)) return this.accepted(answer, 200);
    const report = { by: "report", to: this.to, model: "pull" } as const;
    const retried = retrying ? nextStatus(status, { by: "retry" }) : undefined;
    const next = nextStatus(status, report) ?? (retried === undefined ? undefined : nextStatus(retried, report));
    if (next === undefined) return this.illegal(answer);
    ownBecomes(model, next);
    return this.accepted(answer, 200);
  }
}

class Acquire extends Runtime {
  toString = () => "acquire";
  async act(model: Model, { world, key, deploymentId }: Real): Promise<Answer> {
    const [session, requestId] = [crypto.randomUUID(), crypto.randomUUID()];
    const body = { session, requestId, deploymentModel: "pull", deploymentIds: [deploymentId] };
    const answer = await world.call("POST", "/v1/sync/acquire", { key, body });
    if (!model.keyWorks) return this.refused(answer, 401, "API_KEY_REVOKED");
    this.accepted(answer, 200);
    const { status, retrying } = model.own;
    if (!retrying || status === "teardown-failed") return this.released(answer, world, key, session, deploymentId);
    ownBecomes(model, nextStatus(status, { by: "retry" }) ?? status);
    expect(answer.body.deployments).toHaveLength(1);
    return this.released(answer, world, key, session, deploymentId);
  }

  async released(answer: Answer, world: Real["world"], key: string, session: string, deploymentId: string) {
    await world.call("POST", "/v1/sync/release", { key, body: { session, deploymentId } });
    return answer;
  }
}

/** The sweep follows at once, which else does within a minute: what is over by silence is then settled. */
class Pass extends Step {
  readonly minutes: number;
  constructor(minutes: number) {
    super();
    this.minutes = minutes;
  }
  toString = () => `pass ${this.minutes}`;
  async act(model: Model, real: Real): Promise<undefined> {
    await new Wait(this.minutes).act(model, real);
    await real.world.platform.sweep();
    if (shown(model) !== "deleted" || model.setup === "deleted") return;
    ownBecomes(model, "deleted");
  }
}

const ACTIONS: readonly Step[] = [new SetupToken(), new Retry(), new Cancel(), new Delete()];
const reports = DEPLOYMENT_STATUSES.map((to) => new Report(to));
const beats = ["healthy", "degraded", "unhealthy"].map((status) => new Beat(status));

onEachDatabase(
  "a manager's life",
  (world) => {
    tellTheSame<Model, Real>({
      async walk(steps, seen) {
        // Three minutes that pass one by one end exactly where silence does: no real second may come to them.
        world.clock.hold();
        const nowMs = world.clock.wallNow().getTime();
        const admin = await (await world.workspace()).key("workspace.admin");
        const body = { name: "our manager", cloud: "aws", region: "eu-west-1" };
        const { managerId, setupToken } = (await world.call("POST", "/v1/managers", { key: admin, body })).body;
        const path = `/v1/managers/${managerId}`;
        const model: Model = {
          nowMs,
          setup: "pending",
          changedMs: nowMs,
          heardMs: undefined,
          token: { untilMs: nowMs + 24 * HOUR_MS, revoked: false },
          keyWorks: undefined,
          own: { status: "deleted", retrying: false },
          bootstrapped: false,
        };
        const real: Real = {
          world,
          seen,
          admin,
          path,
          token: setupToken,
          key: "",
          deploymentId: "",
          agree: (model) => agree(real, model),
        };
        await fc.asyncModelRun(() => ({ model, real }), steps);
      },
      known: [
        [new Delete(), "delete INVALID_STATE_TRANSITION"],
        [new Retry(), "retry 200"],
        [new Pass(1501), ""],
        [new Bootstrap(), "bootstrap API_KEY_EXPIRED"],
        [new SetupToken(), "setup-token 201"],
        [new Bootstrap(), "bootstrap 201"],
        [new Report("deleted"), "report INVALID_STATE_TRANSITION"],
        [new Report("preflights-failed"), "report 200"],
        [new Bootstrap(), "bootstrap INVALID_STATE_TRANSITION"],
        [new SetupToken(), ""],
        [new Bootstrap(), ""],
        [new Beat("unhealthy"), "beat 200"],
        [new Report("preflights-failed"), ""],
        [new Cancel(), "cancel INVALID_STATE_TRANSITION"],
        [new Retry(), ""],
        [new Retry(), "retry INVALID_STATE_TRANSITION"],
        [new Acquire(), "acquire 200"],
        [new Report("running"), ""],
        [new Pass(61), ""],
        [new Retry(), ""],
        [new SetupToken(), "setup-token INVALID_STATE_TRANSITION"],
        [new Beat("healthy"), ""],
        [new Bootstrap(), "bootstrap API_KEY_REVOKED"],
        [new Delete(), "delete 202"],
        [new Report("delete-failed"), ""],
        [new Delete(), ""],
        [new Report("teardown-required"), ""],
        [new Report("teardown-failed"), ""],
        [new Delete(), ""],
        [new Report("deleted"), ""],
        [new Report("deleted"), "report API_KEY_REVOKED"],
        [new Acquire(), "acquire API_KEY_REVOKED"],
        [new Beat("healthy"), "beat API_KEY_REVOKED"],
      ],
      steps: [
        fc.constant(new Bootstrap()),
        fc.constantFrom(...ACTIONS),
        fc.constantFrom(...beats),
        fc.constantFrom(...reports),
        fc.constantFrom(...reports.filter(({ to }) => to.endsWith("-failed"))),
        fc.constant(new Acquire()),
        fc.constantFrom(1, 2.5, 37.5, 61.5).map((minutes) => new Pass(minutes)),
      ],
    });
  },
  OWN_PLATFORM,
);
