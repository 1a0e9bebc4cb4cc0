import { expect, test } from "vitest";
import { OBSERVED_KINDS } from "../../src/agent/kernel/observed-kinds.ts";
import { MANAGED_DEPLOYMENT } from "../../src/crds/kinds/managed-deployment.ts";
import { BUDGETS } from "../../src/platform/kernel/budgets/budget-table.ts";

test("the platform stores a list of each kind in as many namespaces as a deployment can be accepted for", () => {
  const { maxItems } = MANAGED_DEPLOYMENT.status.properties.namespaces as { readonly maxItems?: number };
  const namespaces = maxItems ?? Number.POSITIVE_INFINITY;
  expect(BUDGETS["deployment-inventory-scopes"].size).toBeGreaterThanOrEqual(namespaces * OBSERVED_KINDS.length);
});
