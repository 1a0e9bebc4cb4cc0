import { DEBUG_ACCOUNT, DEBUG_NAMESPACE, GROUP, type InstallationNames, TUNNEL_ACCOUNT } from "../../group.ts";
import type { Manifest } from "../../manifest.ts";
import { forbid, type Named, stampingPolicy, validatingPolicy } from "./admission-policy.ts";
import { type Levels, sameBut } from "./same-but.ts";

/** Names of the policies that an installation has only with debug sessions; the operator looks for them then. */
export const DEBUG_VALIDATING_POLICIES = [
  "sallyport-debug-words",
  "sallyport-debug-accounts",
  "sallyport-tunnel-status",
  "sallyport-tunnel-tokens",
] as const;
export const DEBUG_MUTATING_POLICIES = ["sallyport-stamp-debug-ender"] as const;

/** What a debug session may say, and what tunnel and session accounts may do beside what RBAC says. */
export function debugPolicies(names: InstallationNames): readonly Manifest[] {
  return [
    ...debugWords(names),
    ...debugAccounts(names),
    ...tunnelStatus(names),
    ...tunnelTokens(names),
    ...stampEnder(),
  ];
}

const ENDS = "has(object.spec.endedReason) && !has(oldObject.spec.endedReason)";

/** CEL: the write adds no entry to this list or map of the metadata. */
function nothingNew(field: string, entry = "k"): string {
  const [now, was] = [`object.metadata.${field}`, `oldObject.metadata.${field}`];
  const same = field === "labels" || field === "annotations" ? ` && ${was}[${entry}] == ${now}[${entry}]` : "";
  return `(!has(${now}) || ${now}.all(${entry}, oldObject != null && has(${was}) && ${entry} in ${was}${same}))`;
}

/**
 * A session's end is a person's own word; no session outlives eight hours from its creation, whatever the agent asked
 * for; and no metadata keeps one from being deleted, or has another controller act on it.
 */
function debugWords(names: InstallationNames): readonly Manifest[] {
  const ours = [names.agentAccount, names.operatorAccount, names.tunnelAccount ?? TUNNEL_ACCOUNT]
    .map((account) => `'system:serviceaccount:${names.systemNamespace}:${account}'`)
    .join(", ");
  return validatingPolicy(
    "sallyport-debug-words",
    { apiGroups: [GROUP], operations: ["CREATE", "UPDATE"], resources: ["debugsessions"] },
    {
      validations: [
        forbid(
          "request.operation != 'CREATE' || timestamp(object.spec.expiresAt) <= " +
            "timestamp(object.metadata.creationTimestamp) + duration('8h')",
          "a debug session ends at most 8 hours after it was asked for (expiresAt)",
        ),
        forbid(
          "request.operation == 'CREATE' || !has(object.spec.endedBy) || has(oldObject.spec.endedBy) || " +
            "object.spec.endedBy == request.userInfo.username",
          "endedBy must be the user who ends the session",
        ),
        forbid(
          `request.operation == 'CREATE' || !(${ENDS}) || !(request.userInfo.username in [${ours}])`,
          "endedReason is the customer's word; an account of Sallyport may not write it",
        ),
        forbid(
          "(!has(object.metadata.finalizers) || object.metadata.finalizers.all(f, oldObject != null && " +
            "has(oldObject.metadata.finalizers) && f in oldObject.metadata.finalizers)) && " +
            "(!has(object.metadata.ownerReferences) || object.metadata.ownerReferences.size() == 0)",
          "a debug session takes no finalizer and no owner",
        ),
        forbid(
          `${nothingNew("labels")} && ${nothingNew("annotations")}`,
          "a debug session takes no label and no annotation: a deployment tool would take the record for its own",
        ),
      ],
      auditAnnotations: [
        {
          key: "debug-session",
          valueExpression: `request.operation == 'UPDATE' && ${ENDS} ? 'ended by ' + request.userInfo.username : ''`,
        },
      ],
    },
  );
}

/** The API server writes the name of the person who ends a session. A false name that was typed is refused. */
function stampEnder(): readonly Manifest[] {
  return stampingPolicy(
    "sallyport-stamp-debug-ender",
    { apiGroups: [GROUP], operations: ["UPDATE"], resources: ["debugsessions"] },
    {
      matchConditions: [
        { name: "newly-ended", expression: ENDS },
        { name: "without-a-name", expression: "!has(object.spec.endedBy)" },
      ],
      path: "/spec/endedBy",
      value: "request.userInfo.username",
    },
  );
}

/**
 * A session's account connects to containers and ports with exec and port-forward, whatever a cluster binds to all
 * service accounts. Attach takes over a terminal, a debug container brings an image, a proxy reaches any port.
 */
function debugAccounts({ debugNamespace = DEBUG_NAMESPACE }: InstallationNames): readonly Manifest[] {
  const prefix = `request.userInfo.username.startsWith('system:serviceaccount:${debugNamespace}:')`;
  return validatingPolicy(
    "sallyport-debug-accounts",
    {
      apiGroups: [""],
      operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"],
      resources: ["pods", "pods/*", "services/proxy", "nodes/proxy", "serviceaccounts/token"],
    },
    {
      matchConditions: [{ name: "made-by-the-account-of-a-debug-session", expression: prefix }],
      validations: [
        forbid(
          "request.operation == 'CONNECT' && request.resource.resource == 'pods' && has(request.subResource) && " +
            "request.subResource in ['exec', 'portforward']",
          "the account of a debug session may only connect with exec and port-forward",
        ),
      ],
    },
  );
}

function tunnelOnly({ systemNamespace, tunnelAccount = TUNNEL_ACCOUNT }: InstallationNames): readonly Named[] {
  const username = `system:serviceaccount:${systemNamespace}:${tunnelAccount}`;
  return [{ name: "made-by-the-tunnel", expression: `request.userInfo.username == '${username}'` }];
}

/** The tunnel writes `status.tunnel` of a session that the operator has opened, and nothing else, whatever its roles. */
function tunnelStatus(names: InstallationNames): readonly Manifest[] {
  const tunnel: Levels = [["status", "metadata"], ["tunnel"]];
  const bookkeeping: Levels = [["managedFields", "generation", "resourceVersion"]];
  return validatingPolicy(
    "sallyport-tunnel-status",
    {
      apiGroups: [GROUP],
      operations: ["CREATE", "UPDATE", "DELETE"],
      resources: ["debugsessions", "debugsessions/status", "accessgrants", "accessgrants/status", "operationpolicies"],
    },
    {
      matchConditions: tunnelOnly(names),
      variables: [
        { name: "now", expression: "request.operation == 'DELETE' ? dyn({}) : dyn(object)" },
        { name: "was", expression: "oldObject == null ? dyn({}) : dyn(oldObject)" },
        { name: "state", expression: "variables.was[?'status'][?'state'].orValue('')" },
      ],
      validations: [
        forbid(
          "request.operation == 'UPDATE' && request.resource.resource == 'debugsessions' && " +
            "has(request.subResource) && request.subResource == 'status'",
          "the tunnel may only report on debug sessions (status.tunnel)",
        ),
        forbid(
          `${sameBut("variables.now", "variables.was", tunnel)} && ` +
            sameBut("variables.now[?'metadata'].orValue({})", "variables.was[?'metadata'].orValue({})", bookkeeping),
          "the tunnel may only write status.tunnel",
        ),
        forbid(
          "variables.state in ['Open', 'Closing', 'Closed']",
          "the tunnel reports on sessions that were opened only",
        ),
      ],
    },
  );
}

/** Tokens the tunnel mints: short, and only of the accounts of debug sessions. */
function tunnelTokens(names: InstallationNames): readonly Manifest[] {
  const { debugNamespace = DEBUG_NAMESPACE } = names;
  return validatingPolicy(
    "sallyport-tunnel-tokens",
    { apiGroups: [""], operations: ["CREATE"], resources: ["serviceaccounts/token"] },
    {
      matchConditions: tunnelOnly(names),
      validations: [
        forbid(
          `request.namespace == '${debugNamespace}' && request.name.matches('${DEBUG_ACCOUNT.source}')`,
          "the tunnel may only mint tokens for the accounts of debug sessions",
        ),
        forbid(
          "has(object.spec.expirationSeconds) && object.spec.expirationSeconds <= 3600",
          "a session's token may not live longer than 3600 seconds",
        ),
        forbid(
          "dyn(object).spec[?'boundObjectRef'].orValue(null) == null",
          "a session's token is bound to no other object",
        ),
        forbid(
          "dyn(object).metadata[?'managedFields'].orValue([]).all(m, !('f:audiences' in m[?'fieldsV1'][?'f:spec'].orValue({})))",
          "a session's token is for the API server only (audiences)",
        ),
      ],
    },
  );
}
