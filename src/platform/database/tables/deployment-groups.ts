import type { SealedVariables } from "./deployments.ts";

export interface DeploymentGroupTables {
  deployment_groups: DeploymentGroupRow;
  group_token_setups: GroupTokenSetupRow;
}

/** What a group token settles beforehand, beside what its key shows. Goes with the key. */
export interface GroupTokenSetupRow {
  api_key_id: string;
  /** With their values; secret ones sealed. */
  environment_variables: SealedVariables | null;
  /** Input id to value; secret ones sealed. */
  input_values: Record<string, unknown>;
  /** The principal whose first-party session it is. */
  session_of: string | null;
}

export interface DeploymentGroupRow {
  id: string;
  workspace_id: string;
  project_id: string;
  name: string;
  /** Unique in the project, case-sensitive. */
  external_id: string | null;
  max_deployments: number;
  created_at: Date;
}
