import type { Project } from "../../../contract/projects/projects.ts";
import type { PLATFORMS } from "../../../contract/wire/schema.ts";

export interface ProjectTables {
  projects: ProjectRow;
}

export interface ProjectRow {
  id: string;
  workspace_id: string;
  name: string;
  git_repository: Project["gitRepository"];
  root_directory: string | null;
  deployment_portal_appearance: Project["deploymentPortalAppearance"];
  packages_config: Project["packagesConfig"];
  default_managers: Partial<Record<(typeof PLATFORMS)[number], string | null>> | null;
  enabled_capabilities: Project["enabledCapabilities"];
  created_at: Date;
}
