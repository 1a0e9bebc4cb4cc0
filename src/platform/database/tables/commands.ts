import type { DeploymentModel } from "../../../contract/deployments/deployment-state.ts";
import type { CommandState, CommandTarget } from "../../../contract/operations/commands.ts";
import type { Actor } from "../../../contract/wire/actor.ts";
import type { StoredError } from "../../../contract/wire/stored-error.ts";
import type { Kept } from "./kept.ts";

export interface CommandTables {
  commands: CommandRow;
}

export interface CommandRow {
  id: string;
  workspace_id: string;
  project_id: string;
  deployment_id: string;
  name: string;
  /** As stored. `asOf` computes whether it has expired since. */
  state: CommandState;
  deployment_model: DeploymentModel;
  target: CommandTarget | null;
  attempt: number | null;
  deadline: Date | null;
  request_size_bytes: number | null;
  response_size_bytes: number | null;
  created_at: Date;
  dispatched_at: Date | null;
  completed_at: Date | null;
  error: Kept<StoredError> | null;
  /** Unique together with `plan_index`: a line of a plan gets only one command. */
  access_request_id: string | null;
  plan_index: number | null;
  invoked_by: Actor | null;
  /** When the resources were last observed, if that was long ago and the caller accepted it. */
  stale_since: Date | null;
  /** JSON text and not jsonb, which cannot hold every JSON string. Null when there are none. */
  params: string | null;
  result: string | null;
  idempotency_key: string | null;
}
