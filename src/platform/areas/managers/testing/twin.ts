import type { DeploymentStatus } from "../../../../contract/deployments/deployment-state.ts";
import { MINUTE_MS, type ModelTime } from "../../../testing/model-step.ts";

// What §9 says of a manager, in the plainest words (model.test.ts).

type Setup = "pending" | "provisioning" | "active" | "failed" | "deleting" | "deleted" | "gone";

export interface Model extends ModelTime {
  setup: Setup;
  changedMs: number;
  heardMs: number | undefined;
  token: { readonly untilMs: number; revoked: boolean };
  /** Whether the last bootstrap's key works; undefined before the first. */
  keyWorks: boolean | undefined;
  /** What the manager runs as: the last one that there was. */
  own: { status: DeploymentStatus; retrying: boolean };
  /** Since the last setup. */
  bootstrapped: boolean;
}

export const HOUR_MS = 60 * MINUTE_MS;

/** As anybody sees it. */
export function shown({ setup, changedMs, heardMs = 0, nowMs }: Model): Setup {
  const quietMs = nowMs - Math.max(changedMs, heardMs);
  if (setup === "provisioning" && quietMs > HOUR_MS) return "failed";
  return setup === "deleting" && quietMs > 3 * MINUTE_MS ? "deleted" : setup;
}

export function move(model: Model, to: Setup): void {
  model.setup = to;
  model.changedMs = model.nowMs;
}

/** The manager follows what it runs as. */
export function ownBecomes(model: Model, status: DeploymentStatus): void {
  if (status === model.own.status) return;
  model.own = { status, retrying: false };
  if (status.endsWith("-failed") && model.setup === "provisioning") move(model, "failed");
  if (status === "deleted" && model.setup === "deleting") {
    move(model, "deleted");
    model.keyWorks = false;
  }
}

export function beginSetup(model: Model): void {
  move(model, "pending");
  model.own = { status: "deleted", retrying: false };
  model.bootstrapped = false;
  model.token = { untilMs: model.nowMs + 24 * HOUR_MS, revoked: false };
}
