/**
 * Panels that the story of test/integration/metrics.test.ts leaves empty, each with the alert whose case in
 * alert-cases.ts makes series for it: dashboards.test.ts asks them there. Of each it says why the story makes none.
 */
export const RARE_PANELS: Readonly<Record<string, { readonly because: string; readonly filledBy: string }>> = {
  "cluster.json: Runtime key ends in": {
    because: "the story's key has no end",
    filledBy: "SallyportRuntimeKeyExpiring",
  },
  "cluster.json: Alerts": { because: "nothing is wrong", filledBy: "SallyportNoLeader" },
  "fleet.json: Alerts": { because: "nothing is wrong", filledBy: "SallyportNoLeader" },
  "fleet.json: Commands refused": {
    because: "every command was granted",
    filledBy: "SallyportOperationsRefused",
  },
  "fleet.json: Until runtime keys end": {
    because: "the story's key has no end",
    filledBy: "SallyportRuntimeKeyExpiring",
  },
};
