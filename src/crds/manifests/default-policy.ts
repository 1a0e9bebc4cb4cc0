import { DEFAULT_NAMES, GROUP, type InstallationNames, VERSION } from "../group.ts";
import { OPERATION_POLICY, type OperationPolicySpec } from "../kinds/operation-policy.ts";
import type { Manifest } from "../manifest.ts";

/** The object that an installation ships, for the customer to read and to edit (`kubectl get opp`). */
const DEFAULT_POLICY = "default";
const MANUAL = { "read-only": "manual", mutating: "manual", destructive: "manual" } as const;

/** Nothing runs by itself unless the customer changes it: the same as without a policy, but visible. */
export function defaultPolicy(
  { grantsNamespace }: Pick<InstallationNames, "grantsNamespace"> = DEFAULT_NAMES,
  defaults: NonNullable<OperationPolicySpec["defaults"]> = {},
): Manifest {
  return {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: OPERATION_POLICY.kind,
    metadata: { name: DEFAULT_POLICY, namespace: grantsNamespace },
    spec: { defaults: { ...MANUAL, ...defaults } },
  };
}
