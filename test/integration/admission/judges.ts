import type { Manifest } from "../../../src/crds/manifest.ts";

interface Policy {
  readonly matchConstraints: object;
  readonly matchConditions?: readonly object[];
  readonly paramKind?: object;
}

/**
 * Beside each validating policy one that matches what it matches, refuses nothing and warns each time: so the answer to
 * a request names all policies that have judged it, also where they had nothing to say.
 */
export function judgesOf(policies: readonly Manifest[]): readonly Manifest[] {
  return policies.flatMap((manifest): readonly Manifest[] => {
    const name = judgeOf(manifest.metadata.name);
    if (manifest.kind === "ValidatingAdmissionPolicyBinding") {
      const spec = { ...(manifest.spec as object), policyName: name, validationActions: ["Warn"] };
      return [{ ...manifest, metadata: { name }, spec }];
    }
    if (manifest.kind !== "ValidatingAdmissionPolicy") return [];
    const { matchConstraints, matchConditions, paramKind } = manifest.spec as Policy;
    const spec = {
      ...{ failurePolicy: "Ignore", matchConstraints },
      ...(matchConditions && { matchConditions }),
      ...(paramKind && { paramKind }),
      validations: [{ expression: "false", message: "judged" }],
    };
    return [{ ...manifest, metadata: { name }, spec }];
  });
}

function judgeOf(policy: string): string {
  return `judges-${policy}`;
}

/** What is in the answer when the policy has judged the request. */
export function judged(policy: string): string {
  return `ValidatingAdmissionPolicy '${judgeOf(policy)}'`;
}
