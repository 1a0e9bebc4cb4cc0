import { randomBytes } from "node:crypto";
import { type Rendered, renderStack } from "../../../agent/releases/render/render-stack.ts";
import { isRecord } from "../../../base/is-record.ts";
import type { Deployment } from "../../../contract/deployments/deployment.ts";
import type { EnvironmentVariable } from "../../../contract/deployments/deployment-state.ts";
import type { Release } from "../../../contract/releases/releases.ts";
import { groupKindOf } from "../../../contract/stacks/manifest-problems.ts";
import { DEFAULT_NAMES } from "../../../crds/group.ts";
import type { ReleaseObject } from "../../../crds/kinds/release-content.ts";
import { type FieldDifference, fieldDifferences } from "./field-differences.ts";

/** What the platform knows of a deployment, and of the two releases. */
export interface Compared {
  readonly deployment: Deployment;
  /** Null: nothing is installed. */
  readonly from: Release | null;
  readonly to: Release;
  /** The answers to the release's questions; those that are secret are named and have no value. */
  readonly inputs: { readonly values: Readonly<Record<string, unknown>>; readonly providedInputIds: readonly string[] };
}

export interface Change {
  readonly change: "added" | "changed" | "removed";
  readonly what: string;
  /** What follows in the cluster, where a person would not expect it. */
  readonly effect?: string;
  /** Of what is changed. */
  readonly fields: readonly FieldDifference[];
}

/** Why a release cannot be rendered, in the words of the customer's agent. */
interface Unrendered {
  readonly releaseId: string;
  readonly path: string;
  readonly message: string;
}

export interface ReleaseDifferences {
  /** `objects` of Kubernetes; `resources` of the stacks, where there are none or a release cannot be rendered. */
  readonly compares: "objects" | "resources";
  readonly unrendered: readonly Unrendered[];
  /** It is refused where the customer lets releases bring none. */
  readonly bringsSecrets: boolean;
  readonly changes: readonly Change[];
}

/** What is compared of one thing, and what its change means. */
interface Part {
  readonly what: string;
  readonly value: unknown;
  readonly effect?: (change: Change) => string | undefined;
}
type Parts = ReadonlyMap<string, Part>;

/** Stands for the namespace that only the customer knows. */
const OWN_NAMESPACE = "namespace-of-the-deployment";
const REPLACE_PODS: ReadonlySet<string> = new Set(["apps/Deployment", "apps/StatefulSet", "apps/DaemonSet"]);

/** What changes when a release takes the place of the installed one, as far as the platform knows both. */
export function releaseDifferences(compared: Compared): ReleaseDifferences {
  const { deployment, from, to } = compared;
  const [before, after] = [stackOf(from, deployment), stackOf(to, deployment)];
  const variables = changesOf(...variablesOf(compared));
  const made = deployment.platform === "kubernetes" ? objectsOf(compared, before, after) : [];
  if ("objects" in made) {
    const changes = [...variables, ...changesOf(...made.objects)];
    return { compares: "objects", unrendered: [], bringsSecrets: made.bringsSecrets, changes };
  }
  const changes = [...variables, ...changesOf(resourcesOf(before), resourcesOf(after))];
  return { compares: "resources", unrendered: made, bringsSecrets: false, changes };
}

function stackOf(release: Release | null, { platform }: Deployment): unknown {
  return release === null ? undefined : release.stack[platform];
}

function changesOf(before: Parts, after: Parts): readonly Change[] {
  const changes: Change[] = [];
  const add = (change: Change, { effect }: Part): void => {
    const words = effect?.(change);
    changes.push({ ...change, ...(words !== undefined && { effect: words }) });
  };
  for (const [key, part] of before) {
    if (!after.has(key)) add({ change: "removed", what: part.what, fields: [] }, part);
  }
  for (const [key, part] of after) {
    const { what, value } = part;
    const old = before.get(key);
    const fields = old === undefined ? [] : fieldDifferences(old.value, value);
    if (old === undefined) add({ change: "added", what, fields }, part);
    else if (fields.length > 0) add({ change: "changed", what, fields }, part);
  }
  return changes;
}

/** Both with the labels of the same release: else each object would differ in them. */
function objectsOf(
  { deployment, from, to, inputs }: Compared,
  before: unknown,
  after: unknown,
): { readonly objects: readonly [Parts, Parts]; readonly bringsSecrets: boolean } | readonly Unrendered[] {
  const unsaid = inputs.providedInputIds.filter((id) => !Object.hasOwn(inputs.values, id)).map((id) => [id, ""]);
  const common = {
    ...{ deploymentId: deployment.id, releaseId: to.id, version: to.version },
    grantsNamespace: DEFAULT_NAMES.grantsNamespace,
    namespaces: [OWN_NAMESPACE, ...namespacesIn([before, after])],
    // New each time: a name that is shown cannot be used to try values out.
    secretSalt: randomBytes(32),
  };
  const render = (stack: unknown, variables: readonly EnvironmentVariable[]): Rendered => {
    const inputValues = { ...inputs.values, ...Object.fromEntries(unsaid) };
    const externalBindings = deployment.stackSettings.externalBindings ?? {};
    return renderStack({
      ...common,
      stack,
      config: { environmentVariables: { variables }, inputValues, externalBindings },
    });
  };
  const wanted = render(after, deployment.environmentVariables ?? []);
  const installed = from === null ? undefined : render(before, installedVariables(deployment));
  const unrendered = [
    ...(wanted.ok ? [] : problemsOf(to, wanted)),
    ...(from === null || installed === undefined || installed.ok ? [] : problemsOf(from, installed)),
  ];
  if (!wanted.ok || installed?.ok === false) return unrendered;
  const objects = [partsOf(installed?.objects ?? []), partsOf(wanted.objects)] as const;
  return { objects, bringsSecrets: wanted.secret !== undefined };
}

function problemsOf({ id }: Release, { problems }: Extract<Rendered, { ok: false }>): readonly Unrendered[] {
  return problems.map(({ path, message }) => ({ releaseId: id, path, message }));
}

/** Those that objects of manifests name. The customer has accepted them, or the plan says so. */
function namespacesIn(stacks: readonly unknown[]): readonly string[] {
  const found = new Set<string>();
  for (const [, { value }] of stacks.flatMap((stack) => [...resourcesOf(stack)])) {
    const objects = isRecord(value) && isRecord(value.config) ? value.config.objects : undefined;
    for (const object of Array.isArray(objects) ? objects : []) {
      const metadata = isRecord(object) && isRecord(object.metadata) ? object.metadata : {};
      if (typeof metadata.namespace === "string") found.add(metadata.namespace);
    }
  }
  return [...found];
}

function partsOf(objects: readonly ReleaseObject[]): Parts {
  return new Map(
    objects.map(({ manifest, frozen }) => {
      const { name, namespace } = manifest.metadata;
      const place = namespace === undefined || namespace === OWN_NAMESPACE ? "" : `${namespace}/`;
      const groupKind = groupKindOf(manifest);
      const effect = (change: Change) => effectOf(change, groupKind, frozen);
      return [`${groupKind} ${place}${name}`, { what: `${manifest.kind} ${place}${name}`, value: manifest, effect }];
    }),
  );
}

function effectOf({ change, fields }: Change, groupKind: string, isFrozen: boolean): string | undefined {
  if (change === "removed" && (isFrozen || groupKind === "/PersistentVolumeClaim")) return "stays: it is never deleted";
  if (change !== "changed") return undefined;
  if (isFrozen) return "frozen: an update leaves it as it is";
  const isOfPods = fields.some(({ path }) => path.startsWith("spec.template."));
  return isOfPods && REPLACE_PODS.has(groupKind) ? "its pods are replaced" : undefined;
}

/** The resources of a stack and the questions that it asks. What is none is left out: the platform has judged it. */
function resourcesOf(stack: unknown): Parts {
  const parts = new Map<string, Part>();
  const { resources, inputs } = isRecord(stack) ? stack : {};
  for (const [id, value] of Object.entries(isRecord(resources) ? resources : {})) {
    const type = isRecord(value) && isRecord(value.config) ? String(value.config.type) : "unknown";
    parts.set(`resource ${id}`, { what: `${type} ${id}`, value });
  }
  for (const value of Array.isArray(inputs) ? inputs : []) {
    const id = isRecord(value) ? String(value.id) : "unknown";
    parts.set(`input ${id}`, { what: `input ${id}`, value });
  }
  return parts;
}

/** Those that were in use when the deployment last reached `running`. */
function installedVariables({
  environmentVariables,
  targetEnvironmentVariables,
  currentEnvironmentVariables,
}: Deployment): readonly EnvironmentVariable[] {
  if (targetEnvironmentVariables === null) return environmentVariables ?? [];
  return currentEnvironmentVariables?.variables ?? [];
}

/** Of what is installed, and of what is wanted. The platform tells no secret value; that one is another shows in the hash. */
function variablesOf({ deployment, from }: Compared): readonly [Parts, Parts] {
  const { environmentVariables, targetEnvironmentVariables: target, currentEnvironmentVariables: current } = deployment;
  if (from === null) return [new Map(), new Map()];
  const part = (value: unknown): Parts => new Map([["variables", { what: "environment variables", value }]]);
  const [before, after] = [installedVariables(deployment), environmentVariables ?? []];
  const isAnother = target !== null && current !== null && target.hash !== current.hash;
  if (!isAnother || fieldDifferences(before, after).length > 0) return [part(before), part(after)];
  const secret = ({ hash }: { readonly hash: string }) => ({ "one or more": { type: "secret", value: hash } });
  return [part(secret(current)), part(secret(target))];
}
