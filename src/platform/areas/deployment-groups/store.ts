export interface DeploymentGroupTables {
  deployment_groups: DeploymentGroupRow;
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
