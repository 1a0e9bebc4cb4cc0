/**
 * The workspace of hidden records: the deployment that each private manager runs as, its group and its project (§9).
 * Every query is bounded by the caller's workspace, and no caller is in this one, so all lists and counts leave these
 * records out, including those written later. Code that may read a hidden record asks for it by id: `workedOnBy`,
 * `readDeployment`.
 */
export const HIDDEN_WORKSPACE = "ws_000000000000000000000000";

export function isHidden(row: { readonly workspace_id: string }): boolean {
  return row.workspace_id === HIDDEN_WORKSPACE;
}
