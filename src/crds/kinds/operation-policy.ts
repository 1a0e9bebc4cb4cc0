import Type from "typebox";
import { inScope } from "../operations/catalog.ts";
import { UNATTENDED_DEBUG } from "../operations/debug.ts";
import { RELEASE_OPERATIONS, RELEASE_PREFIX, ROLLBACK } from "../released/releases.ts";
import { DeploymentRef, Line, rules, Words } from "../schema.ts";
import { type Kind, type ObjectOf, resourceOf } from "./kind.ts";
import { ReleaseWindow } from "./release-window.ts";

/** `auto` runs by itself, `manual` needs an approved grant, `deny` never runs, approved or not. Least strict first. */
export const POLICY_DECISIONS = ["auto", "manual", "deny"] as const;
export type PolicyDecision = (typeof POLICY_DECISIONS)[number];

const UNATTENDED = quoted(UNATTENDED_DEBUG);
const RELEASES = quoted(RELEASE_OPERATIONS.map(({ command }) => command));
const Decision = Words(POLICY_DECISIONS);

const Spec = Type.Object({
  rules: Type.Optional(
    Type.Array(
      Type.Object(
        {
          pattern: Type.String({
            maxLength: 128,
            pattern: "^(\\*|[a-z0-9]+(-[a-z0-9]+)*/(\\*|[a-z0-9]+(-[a-z0-9]+)*))$",
            description: "plugin/operation, plugin/* or *. The most exact pattern decides; their order has no meaning.",
          }),
          decision: Decision,
        },
        rules(
          {
            rule: `!self.pattern.startsWith('debug/') || self.decision != 'auto' || self.pattern in [${UNATTENDED}]`,
            message:
              "of debug sessions only debug/logs and debug/read can be opened without an approval, each by its own name",
          },
          {
            rule: `!self.pattern.startsWith('${RELEASE_PREFIX}') || self.decision != 'auto' || self.pattern in [${RELEASES}]`,
            message: "of releases each act is let run by itself by its own name, such as release/update",
          },
          {
            rule: `self.pattern != '${ROLLBACK}' || self.decision != 'manual'`,
            message: "a rollback is approved by no person: auto lets it run, deny leaves what has failed as it is",
          },
        ),
      ),
      { maxItems: 100, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["pattern"] },
    ),
  ),
  defaults: Type.Optional(
    Type.Object(
      {
        "read-only": Type.Optional(Decision),
        mutating: Type.Optional(Decision),
        destructive: Type.Optional(Decision),
      },
      { description: "For operations that no rule names. Left out: manual, also for what only reads." },
    ),
  ),
  clusterOperations: Type.Optional(
    Type.Array(
      Type.Object({
        operation: Words(inScope("cluster").map(({ command }) => command)),
        deployments: Type.Array(DeploymentRef, { minItems: 1, maxItems: 64, "x-kubernetes-list-type": "set" }),
        names: Type.Optional(
          Type.Array(Type.String({ maxLength: 253, pattern: "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" }), {
            maxItems: 256,
            "x-kubernetes-list-type": "set",
            description: "The objects, such as nodes, that it may work on. Left out: any.",
          }),
        ),
      }),
      {
        maxItems: 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["operation"],
        description:
          "Operations on objects without a namespace, opened to these deployments. Never without an approved grant; what is not named here, in every policy, never runs.",
      },
    ),
  ),
  maxWindowMinutes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 43_200,
      description: "Longest window that an approval opens. A larger number that the approver typed is cut to it.",
    }),
  ),
  releaseWindows: Type.Optional(
    Type.Array(ReleaseWindow, {
      minItems: 1,
      maxItems: 20,
      "x-kubernetes-list-type": "atomic",
      description:
        "Outside of these no rollout begins, nor a next wave of one. Left out: any time. Of several policies each that has windows needs an open one.",
    }),
  ),
  notify: Type.Optional(
    Type.Array(Line(1, 256), {
      maxItems: 16,
      "x-kubernetes-list-type": "set",
      description:
        "Who is told of a waiting request: shown in its conditions and events, for people and for alert routes.",
    }),
  ),
});

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(", ");
}

/**
 * The customer's rules: what runs by itself, what needs approval and what never runs. Of several policies the strictest
 * wins.
 */
export const OPERATION_POLICY = {
  kind: "OperationPolicy",
  plural: "operationpolicies",
  shortName: "opp",
  description:
    "What runs by itself, what needs an approved grant, and what never runs. Several policies merge to the strictest.",
  spec: Spec,
  columns: [
    { name: "Read-Only", type: "string", jsonPath: ".spec.defaults.read-only" },
    { name: "Mutating", type: "string", jsonPath: ".spec.defaults.mutating" },
    { name: "Destructive", type: "string", jsonPath: ".spec.defaults.destructive" },
    { name: "Rules", type: "string", jsonPath: ".spec.rules" },
    { name: "Max-Minutes", type: "integer", jsonPath: ".spec.maxWindowMinutes" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Notify", type: "string", jsonPath: ".spec.notify", priority: 1 },
    { name: "Release-Windows", type: "string", jsonPath: ".spec.releaseWindows", priority: 1 },
  ],
} as const satisfies Kind;

export type OperationPolicy = ObjectOf<typeof OPERATION_POLICY>;
export type OperationPolicySpec = OperationPolicy["spec"];
export const operationPolicies = resourceOf(OPERATION_POLICY);
