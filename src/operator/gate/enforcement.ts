import {
  DECISION_POLICIES,
  MUTATING_POLICIES,
  NEEDS_STAMPING,
  VALIDATING_POLICIES,
} from "../../crds/manifests/admission/admission.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { inForceSince } from "../../kube/client/policy-in-force.ts";
import type { Resource } from "../../kube/objects/resource.ts";
import { resources } from "../../kube/objects/resource.ts";

/**
 * What the API server's admission does for decisions, and since when all policies that see access grants are there. What
 * {@link AdmissionWatch} gives out has the instant, which may lie ahead, since when they are enforced for sure.
 */
export type Enforcement =
  /** Names are stamped by the server. */
  | { readonly kind: "stamped"; readonly since: Date }
  /** Nothing stamps, because the server cannot (before 1.36) or by choice; a typed name is checked against the user. */
  | { readonly kind: "checked"; readonly since: Date }
  | { readonly kind: "none"; readonly missing: readonly string[] }
  /** The right to look is not there: nothing can be said of the policies, so nothing is vouched for. */
  | { readonly kind: "unseen" };

/**
 * What the installation chose. `stamping`: the stampers are expected wherever the server has their kind. `unseen`: the
 * operator has no right to look and is not to try.
 */
export const ADMISSION_MODES = ["stamping", "validating-only", "unseen"] as const;
export type AdmissionMode = (typeof ADMISSION_MODES)[number];

/** By policy. Policies that are not looked at are left out. */
export type PolicyPresence = Readonly<Record<string, boolean>>;

const GROUP_VERSION = { group: "admissionregistration.k8s.io", version: "v1", namespaced: false } as const;
const mutatingPolicies: Resource = {
  ...GROUP_VERSION,
  kind: "MutatingAdmissionPolicy",
  plural: "mutatingadmissionpolicies",
};
const mutatingBindings: Resource = {
  ...GROUP_VERSION,
  kind: "MutatingAdmissionPolicyBinding",
  plural: "mutatingadmissionpolicybindings",
};

export interface PolicyReading {
  readonly presence: PolicyPresence;
  /** Whether the installation's mode, on this server, cannot do without the policy. */
  readonly required: PolicyPresence;
}

interface Reading extends PolicyReading {
  readonly enforcement: Enforcement;
  /** Of the policies of what is switched on. They have no say in who decided on a grant. */
  readonly missing: readonly string[];
}

/**
 * One reading of all policies and bindings, each by its name: the operator may get them, and nothing else of the kind.
 * A right to look that was to be there and is not counts as absent policies: taking away right and policy together
 * hides nothing.
 *
 * @param others validating policies of what is switched on: debug sessions, releases
 */
export async function readEnforcement(
  client: Pick<Client, "get" | "rawGet">,
  mode: AdmissionMode,
  signal: AbortSignal,
  others: readonly string[] = [],
): Promise<Reading> {
  if (mode === "unseen") return { enforcement: { kind: "unseen" }, presence: {}, required: {}, missing: [] };
  const [reading, switchedOn] = await Promise.all([
    unlessForbidden(readPolicies(client, mode, signal), () => {
      const all = [...VALIDATING_POLICIES, ...MUTATING_POLICIES];
      const presence = Object.fromEntries(all.map((name) => [name, false]));
      return { enforcement: { kind: "unseen" } as const, presence, required: requiredPolicies(mode === "stamping") };
    }),
    unlessForbidden(readOthers(client, others, signal), () => Object.fromEntries(others.map((name) => [name, false]))),
  ]);
  return {
    enforcement: reading.enforcement,
    presence: { ...reading.presence, ...switchedOn },
    required: { ...reading.required, ...Object.fromEntries(others.map((name) => [name, true])) },
    missing: others.filter((name) => switchedOn[name] !== true),
  };
}

async function unlessForbidden<T>(reading: Promise<T>, otherwise: () => T): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof ApiError && error.isForbidden)) throw error;
    return otherwise();
  }
}

/** Without stampers: a session that ends without a name ends all the same. */
async function readOthers(
  client: Pick<Client, "get">,
  names: readonly string[],
  signal: AbortSignal,
): Promise<PolicyPresence> {
  const { validatingAdmissionPolicies: policies, validatingAdmissionPolicyBindings: bindings } = resources;
  const found = await Promise.all(names.map((name) => inForceSince(client, policies, bindings, name, signal)));
  return Object.fromEntries(found.map(({ name, since }) => [name, since !== undefined]));
}

/** @param withStampers whether the server is to stamp names: by choice, and because it can */
export function requiredPolicies(withStampers: boolean): PolicyPresence {
  const always = VALIDATING_POLICIES.filter((name) => name !== NEEDS_STAMPING);
  return {
    ...Object.fromEntries(always.map((name) => [name, true])),
    ...Object.fromEntries([NEEDS_STAMPING, ...MUTATING_POLICIES].map((name) => [name, withStampers])),
  };
}

async function readPolicies(
  client: Pick<Client, "get" | "rawGet">,
  mode: AdmissionMode,
  signal: AbortSignal,
): Promise<Omit<Reading, "missing">> {
  const { validatingAdmissionPolicies: policies, validatingAdmissionPolicyBindings: bindings } = resources;
  const [validating, mutating] = await Promise.all([
    Promise.all(VALIDATING_POLICIES.map((name) => inForceSince(client, policies, bindings, name, signal))),
    Promise.all(
      MUTATING_POLICIES.map((name) => inForceSince(client, mutatingPolicies, mutatingBindings, name, signal)),
    ),
  ]);
  const found = [...validating, ...mutating];
  const presence = Object.fromEntries(found.map(({ name, since }) => [name, since !== undefined]));
  const stampers = [...mutating, ...validating.filter(({ name }) => name === NEEDS_STAMPING)];
  const isStamping = stampers.every(({ since }) => since !== undefined);
  // In this mode no stamper is missing: the policies check each typed name against the user.
  const required = requiredPolicies(mode === "stamping" && (isStamping || (await servesStamping(client, signal))));
  const canStamp = isStamping || required[NEEDS_STAMPING] === true;
  const needed = canStamp ? found : validating.filter(({ name }) => name !== NEEDS_STAMPING);
  const missing = needed.filter(({ since }) => since === undefined).map(({ name }) => name);
  if (missing.length > 0) return { enforcement: { kind: "none", missing }, presence, required };
  // The others have no say in who decided: one that an upgrade brings takes no name from a decision that waits.
  const deciding = needed.filter(({ name }) => DECISION_POLICIES.includes(name));
  const since = new Date(Math.max(...deciding.map((policy) => policy.since?.getTime() ?? 0)));
  return { enforcement: { kind: canStamp ? "stamped" : "checked", since }, presence, required };
}

/** Asked only when a stamper is missing: "deleted" and "this server is too old" look the same until here. */
async function servesStamping(client: Pick<Client, "rawGet">, signal: AbortSignal): Promise<boolean> {
  const discovery = await client.rawGet(`/apis/${GROUP_VERSION.group}/${GROUP_VERSION.version}`, signal);
  return discovery.includes(`"${mutatingPolicies.plural}"`);
}
