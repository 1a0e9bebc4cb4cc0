export interface ProjectTables {
  projects: ProjectRow;
}

export interface ProjectRow {
  id: string;
  workspace_id: string;
  name: string;
  git_repository: unknown;
  root_directory: string | null;
  deployment_portal_appearance: unknown;
  packages_config: unknown;
  /** Platform to manager id or null. */
  default_managers: unknown;
  enabled_capabilities: string[];
  created_at: Date;
}
