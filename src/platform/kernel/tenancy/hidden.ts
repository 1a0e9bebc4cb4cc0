/**
 * The workspace of what nobody is shown: the deployment that each private manager runs as, its group and its project (§9).
 * Every query is bounded by the caller's workspace and nobody is in this one, which hides them from all lists and counts,
 * also from those that are written later. Who may know of one asks for it by its id: `workedOnBy`, `readDeployment`.
 */
export const HIDDEN_WORKSPACE = "ws_000000000000000000000000";

export function isHidden(row: { readonly workspace_id: string }): boolean {
  return row.workspace_id === HIDDEN_WORKSPACE;
}
