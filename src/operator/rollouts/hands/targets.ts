import { isRecord } from "../../../base/is-record.ts";
import type { ReleaseManifest, ReleaseObject } from "../../../crds/kinds/release-content.ts";
import { kindAndGroup } from "../../../crds/released/release-kinds.ts";
import type { Exchange } from "../../../kube/client/exchange.ts";
import type { Resource } from "../../../kube/objects/resource.ts";
import { type RuleProblem, refOf } from "../release-rules.ts";
import type { Intent } from "./hands.ts";
import type { LiveObject } from "./release-api.ts";
import { refOfPlace, type SecretPlace, secretsNamed } from "./secret-places.ts";
import type { ServedKinds } from "./served-kinds.ts";

/** An object of a release with the path by which it is reached. */
export interface Target {
  readonly ref: string;
  readonly line: ReleaseObject;
  readonly resource: Resource;
}

export interface Targets {
  readonly targets: readonly Target[];
  readonly problems: readonly RuleProblem[];
}

/** @throws ApiError when the API server cannot be asked. */
export async function targetsOf(
  kinds: ServedKinds,
  exchange: Exchange,
  lines: readonly ReleaseObject[],
  signal: AbortSignal,
): Promise<Targets> {
  const manifests = lines.map(({ manifest }) => manifest);
  const resourceOf = await kinds.of(exchange, manifests, signal);
  const targets: Target[] = [];
  const problems: RuleProblem[] = [];
  for (const line of lines) {
    const ref = refOf(line.manifest);
    const resource = resourceOf(line.manifest);
    if (resource === undefined) {
      problems.push({ ref, message: `this cluster serves no ${line.manifest.kind} of ${line.manifest.apiVersion}` });
    } else if (resource.namespaced) targets.push({ ref, line, resource });
    else problems.push({ ref, message: "objects of the whole cluster are not installed" });
  }
  return { targets, problems };
}

/** What of the content before is no part of the present one. */
export function outdated({ objects, former }: Pick<Intent, "objects" | "former">): readonly ReleaseObject[] {
  const kept = new Set(objects.map(({ manifest }) => refOf(manifest)));
  return former.filter(({ manifest }) => !kept.has(refOf(manifest)));
}

/** Secrets of the deployment's configuration that these objects read. */
export function secretsOf({ rollout }: Intent, lines: readonly ReleaseObject[]): readonly SecretPlace[] {
  return secretsNamed(lines, rollout.spec.deploymentId);
}

/** Refs of copies that an earlier rollout has made. */
export function installedSecrets(intent: Intent): ReadonlySet<string> {
  return new Set((intent.installedSecrets ?? secretsOf(intent, intent.former)).map(refOfPlace));
}

/**
 * Copies that only the contents before read, where the customer still accepts the deployment. A frozen object that is
 * in both reads what it was made with.
 */
export function outdatedSecrets(intent: Intent): readonly SecretPlace[] {
  const { objects, former, formerSecrets = secretsOf(intent, former), namespaces } = intent;
  const going = new Set(outdated(intent));
  const frozen = former.filter((line) => line.frozen && !going.has(line));
  const kept = new Set(secretsOf(intent, [...objects, ...frozen]).map(refOfPlace));
  return formerSecrets.filter((place) => !kept.has(refOfPlace(place)) && namespaces.includes(place.namespace));
}

/** Whether the customer lets the release take this object, or fields of it. */
export function isNamed(takeOver: Intent["takeOver"], { kind, metadata }: ReleaseManifest): boolean {
  return takeOver.some((each) => each.kind === kind && each.name === metadata.name);
}

/** Whether an autoscaler of the same content has the number of copies, which the manifest leaves out. */
export function isAutoscaled(objects: readonly ReleaseObject[], { kind, metadata, ...rest }: ReleaseManifest): boolean {
  if (!isRecord(rest.spec) || rest.spec.replicas !== undefined) return false;
  return objects.some(({ manifest }) => {
    if (kindAndGroup(manifest) !== "HorizontalPodAutoscaler.autoscaling") return false;
    const target = isRecord(manifest.spec) ? manifest.spec.scaleTargetRef : undefined;
    if (!isRecord(target) || manifest.metadata.namespace !== metadata.namespace) return false;
    return target.kind === kind && target.name === metadata.name;
  });
}

/** The setup is applied to what is there only while nothing is installed. */
export function keeps({ formerRef }: Intent, { frozen }: ReleaseObject): boolean {
  return frozen && formerRef !== undefined;
}

/** It was there when the rollout began, and was left as it was. */
export function wasKept(intent: Intent, line: ReleaseObject, { metadata }: LiveObject): boolean {
  const startedAt = Date.parse(intent.rollout.status?.startedAt ?? "");
  return keeps(intent, line) && Date.parse(metadata.creationTimestamp) < startedAt;
}

/** Namespaces that these objects lie in, as far as the customer accepts the deployment there. */
export function namespacesOf(lines: readonly ReleaseObject[], { namespaces }: Pick<Intent, "namespaces">): string[] {
  const named = new Set(lines.map(({ manifest }) => manifest.metadata.namespace));
  return namespaces.filter((namespace) => named.has(namespace));
}

/** Requests of one rollout under way at once. */
export const AT_ONCE = 8;
