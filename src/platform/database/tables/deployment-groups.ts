import type { SealedVariables } from "./deployments.ts";

export interface DeploymentGroupTables {
  deployment_groups: DeploymentGroupRow;
  group_token_setups: GroupTokenSetupRow;
}

/**
 * What the creator of a group token has set for deployments, besides what the key itself shows. Deleted with the key.
 */
export interface GroupTokenSetupRow {
  api_key_id: string;
  /** With their values; secret ones are sealed. */
  environment_variables: SealedVariables | null;
  /** Input id to value; secret ones are sealed. */
  input_values: Record<string, unknown>;
  /** The principal to whose first-party session the token belongs. */
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
