import type { InstallationNames } from "../../../group.ts";
import type { Manifest } from "../../../manifest.ts";
import { DEPLOYMENT_ID_LABEL } from "../../../release-names.ts";
import { type MayRead, READ_KINDS, type ReadKind } from "../../../released/may-read.ts";
import { forbid, type Match, type Params, validatingPolicy } from "../admission-policy.ts";
import { isReadable, readVariables } from "./read-rules.ts";
import { releaseAccountsOnly, WRITTEN } from "./written.ts";

const CLAIMS: Match = { apiGroups: [""], operations: ["CREATE"], resources: ["persistentvolumeclaims"] };
const WORKLOADS: Match = { apiGroups: ["apps", "batch"], operations: ["CREATE", "UPDATE"], resources: ["*"] };
/** CEL: a release of the same deployment has made the object that is looked at. */
const IS_OWN =
  `(dyn(params).metadata[?'labels'][?'${DEPLOYMENT_ID_LABEL}'].orValue('') != '' && ` +
  `dyn(params).metadata[?'labels'][?'${DEPLOYMENT_ID_LABEL}'].orValue('') == variables.labels[?'${DEPLOYMENT_ID_LABEL}'].orValue(''))`;

/** The policy is judged once for each object of this kind in the namespace; one that does not exist yet holds nothing. */
function eachOf(kind: string, apiVersion = "v1"): Params {
  return {
    paramKind: { apiVersion, kind },
    paramRef: { selector: {}, parameterNotFoundAction: "Allow" },
  };
}

/**
 * Pods of a release run as an account that a release of the same deployment has made. Any other account of the namespace
 * may have rights, which the release would borrow.
 */
export function rolloutServiceAccounts(names: InstallationNames): readonly Manifest[] {
  return validatingPolicy("sallyport-rollout-service-accounts", WORKLOADS, {
    params: eachOf("ServiceAccount"),
    matchConditions: releaseAccountsOnly(names),
    variables: WRITTEN,
    validations: [
      forbid(
        `!variables.runsPods || variables.account == 'default' || params.metadata.name != variables.account || ${IS_OWN}`,
        "a rollout runs pods as a service account that the release itself has installed, or as none",
      ),
    ],
  });
}

/**
 * Pods of a release read ConfigMaps and volume claims that a release of the same deployment has made, and those that the
 * customer has named. A release brings both kinds itself, under any name: only the labels of what is there tell them apart.
 */
export function rolloutReads(names: InstallationNames, mayRead: MayRead): readonly Manifest[] {
  // A StatefulSet takes claims that are there already when their names are those that it would give them.
  const claimed =
    "variables.kind == 'StatefulSet.apps' && variables.now[?'spec'][?'volumeClaimTemplates'].orValue([])" +
    ".map(t, t[?'metadata'][?'name'].orValue('') + '-' + variables.now.metadata[?'name'].orValue('') + '-')" +
    ".exists(p, params.metadata.name.startsWith(p) && params.metadata.name.substring(p.size()).matches('^[0-9]+$'))";
  const awaited =
    "dyn(params).spec[?'volumeClaimTemplates'].orValue([]).map(t, t.metadata.name + '-' + params.metadata.name + '-')" +
    ".exists(p, object.metadata.name.startsWith(p) && object.metadata.name.substring(p.size()).matches('^[0-9]+$'))";
  return [
    ...validatingPolicy("sallyport-rollout-config-maps", WORKLOADS, {
      params: eachOf("ConfigMap"),
      matchConditions: releaseAccountsOnly(names),
      variables: [...WRITTEN, ...readVariables("ConfigMap", mayRead)],
      validations: [
        forbid(
          readsNoOther("ConfigMap"),
          `a rollout reads only ConfigMaps that the release brings, or that releases may read (releases.mayRead.${READ_KINDS.ConfigMap})`,
        ),
      ],
    }),
    ...validatingPolicy("sallyport-rollout-volume-claims", WORKLOADS, {
      params: eachOf("PersistentVolumeClaim"),
      matchConditions: releaseAccountsOnly(names),
      variables: [...WRITTEN, ...readVariables("PersistentVolumeClaim", mayRead)],
      validations: [
        forbid(
          readsNoOther("PersistentVolumeClaim"),
          `a rollout uses only volume claims that the release brings, or that releases may read (releases.mayRead.${READ_KINDS.PersistentVolumeClaim})`,
        ),
        forbid(
          `!variables.changes || !(${claimed}) || ${IS_OWN} || ${isAllowed("PersistentVolumeClaim")}`,
          "a rollout makes no StatefulSet that takes volume claims of others by their names",
        ),
      ],
    }),
    ...validatingPolicy("sallyport-rollout-claim-names", CLAIMS, {
      params: eachOf("StatefulSet", "apps/v1"),
      matchConditions: releaseAccountsOnly(names),
      variables: WRITTEN,
      validations: [
        forbid(
          `${IS_OWN} || !(${awaited})`,
          "a rollout makes no volume claim that a StatefulSet of others would take for its own by its name",
        ),
      ],
    }),
  ];
}

function readsNoOther(kind: ReadKind): string {
  const isRead = `variables.reads${kind}.exists(names, params.metadata.name in names)`;
  return `!variables.runsPods || !(${isRead}) || ${IS_OWN} || ${isAllowed(kind)}`;
}

function isAllowed(kind: ReadKind): string {
  return `[params.metadata.name].exists(n, ${isReadable(kind)})`;
}
