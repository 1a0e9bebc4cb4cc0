import { objectName } from "../../crds/group.ts";
import type { AccessGrant, AccessGrantSpec, AccessGrantStatus } from "../../crds/kinds/access-grant.ts";
import type { OperationInvocation, OperationInvocationSpec } from "../../crds/kinds/operation-invocation.ts";
import { BUILT_IN } from "../../crds/operations/catalog.ts";
import { planHash } from "../../crds/plan.ts";
import type { GateInput } from "../gate/gate.ts";
import { mergePolicies } from "../gate/policy.ts";
import { findOperation } from "../operations/catalog.ts";

export const NAMESPACE = "sallyport-grants";
export const DEPLOYMENT_ID = "dpl_1";
export const GRANT_UID = "aaaaaaaa-0000-4000-8000-000000000001";
export const INVOCATION_UID = "bbbbbbbb-0000-4000-8000-000000000001";

/** On 1 January 2026, UTC. */
export function at(time: string): Date {
  return new Date(`2026-01-01T${time}Z`);
}

export const SCALE = {
  command: "kubernetes/scale",
  params: { namespace: "shop", kind: "deployment", name: "web", replicas: 5 },
};

type Line = AccessGrantSpec["commands"][number];

/** Asked at 09:00, to be decided by 12:00; its hash and risk are true. */
export function grant(
  spec: Partial<AccessGrantSpec> = {},
  status?: AccessGrantStatus,
  metadata: Partial<AccessGrant["metadata"]> = {},
): AccessGrant {
  const lines = spec.commands ?? [{ ...SCALE, summary: "scale it" }];
  const commands: readonly Line[] = lines.map((line) => ({ ...line }));
  const plan = { requestId: "req_1", deploymentId: DEPLOYMENT_ID, risk: "mutating" as const, ...spec, commands };
  return {
    apiVersion: "sallyport.dev/v1alpha1",
    kind: "AccessGrant",
    metadata: {
      name: objectName(plan.requestId),
      namespace: NAMESPACE,
      uid: GRANT_UID,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2026-01-01T09:00:00Z",
      ...metadata,
    },
    spec: {
      title: "more replicas",
      maxMinutes: 480,
      decideBefore: "2026-01-01T12:00:00Z",
      planHash: planHash(plan),
      planHashVersion: "v1",
      ...plan,
    },
    ...(status && { status }),
  };
}

/** Approved by alice at 10:00 for an hour, and seen. */
export function approvedGrant(
  spec: Partial<AccessGrantSpec> = {},
  status: Partial<AccessGrantStatus> = {},
): AccessGrant {
  const opened: AccessGrantStatus = {
    state: "Approved",
    approvedAt: "2026-01-01T10:00:00Z",
    approvedUntil: "2026-01-01T11:00:00Z",
    ...status,
  };
  return grant({ approvedForMinutes: 60, decidedBy: "alice", ...spec }, opened);
}

export function invocation(
  spec: Partial<OperationInvocationSpec> = {},
  status?: OperationInvocation["status"],
  metadata: Partial<OperationInvocation["metadata"]> = {},
): OperationInvocation {
  const commandId = spec.commandId ?? "cmd_1";
  return {
    apiVersion: "sallyport.dev/v1alpha1",
    kind: "OperationInvocation",
    metadata: {
      name: objectName(commandId),
      namespace: NAMESPACE,
      uid: INVOCATION_UID,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: "2026-01-01T10:05:00Z",
      ...metadata,
    },
    spec: {
      commandId,
      deploymentId: DEPLOYMENT_ID,
      plugin: "kubernetes",
      operation: "scale",
      tier: "mutating",
      params: SCALE.params,
      grantName: "req-1",
      attempt: 1,
      ...spec,
    },
    ...(status && { status }),
  };
}

/** An invocation that no grant stands behind. */
export function automatic(spec: Partial<OperationInvocationSpec> = {}): OperationInvocation {
  const made = invocation({ operation: "get-pods", tier: "read-only", params: { namespace: "shop" }, ...spec });
  const { grantName: _, ...rest } = made.spec;
  return { ...made, spec: rest };
}

/** Everything in order: the scale of an approved plan, at 10:30. */
export function gateInput(more: Partial<GateInput> = {}): GateInput {
  return {
    invocation: invocation(),
    grant: approvedGrant(),
    policy: mergePolicies([]),
    deployments: [{ spec: { deploymentId: DEPLOYMENT_ID, name: "shop", acceptedNamespaces: ["shop"] } }],
    named: new Map(),
    findOperation,
    commands: BUILT_IN,
    now: at("10:30:00"),
    ...more,
  };
}
