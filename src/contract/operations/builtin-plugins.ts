import type { Tier } from "./operations.ts";

/** A JSON Schema (2020-12) as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface PluginOperation {
  readonly name: string;
  readonly tier: Tier;
  /** `cluster`: works on an object that has no namespace. Absent: in the namespace that its params name. */
  readonly scope?: "cluster";
  /** One sentence for the person who asks or approves. */
  readonly description: string;
  /** Of the params object. Absent: any object within the limits. */
  readonly paramsSchema?: JsonSchema;
}

export interface PluginDefinition {
  readonly name: string;
  readonly version: string;
  readonly tier: Tier;
  readonly operations: readonly PluginOperation[];
}

const dnsLabel = { type: "string", pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", maxLength: 63 } as const;
const dnsName = {
  type: "string",
  pattern: String.raw`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`,
  maxLength: 253,
} as const;
const namespace = { ...dnsLabel, description: "Namespace of the objects." } as const;
const pod = { ...dnsName, description: "Name of the pod." } as const;
const name = { ...dnsName, description: "Name of the object." } as const;
const node = { ...dnsName, description: "Name of the node." } as const;
const limit = { type: "integer", minimum: 1, maximum: 500, description: "Most objects to return." } as const;
/** Accepts nothing that the operator refuses. Otherwise a customer could approve a plan that can never run. */
const labelSelector = {
  type: "string",
  pattern: "^[A-Za-z0-9_./=!,() -]+$",
  maxLength: 512,
  description: "Such as `app=web,tier!=db`: letters, digits, plain spaces and the signs _ . / = ! , ( ) -",
} as const;
/** Of the pods that a debug session reaches. A blank one would choose all of them. */
const podSelector = { ...labelSelector, pattern: "^[A-Za-z0-9!][A-Za-z0-9_./=!,() -]*$", maxLength: 256 } as const;
/** Of the engineer's own key pair: under the plan's hash, so that an approval fits no other client. */
const clientKey = {
  type: "string",
  pattern: "^[A-Za-z0-9_-]{43}$",
  description: "SHA-256 of the client's public key (SPKI), base64url.",
} as const;
const ports = {
  type: "array",
  items: { type: "integer", minimum: 1, maximum: 65_535 },
  minItems: 1,
  maxItems: 8,
  uniqueItems: true,
  description: "The only ports that connections may go to. Left out: any.",
} as const;
const machineId = {
  type: "string",
  pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$",
  maxLength: 128,
  description: "The machine, as the inventory names it.",
} as const;
const workload = { enum: ["deployment", "statefulset", "daemonset"] } as const;

/** An object without other keys: a key that is not declared is a typing mistake or an attack. */
function params(required: Readonly<Record<string, unknown>>, optional: Readonly<Record<string, unknown>> = {}) {
  return {
    type: "object",
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  } as const;
}

/** Runs in the customer's operator, which declares the same operations and checks params again (src/operator). */
const KUBERNETES: PluginDefinition = {
  name: "kubernetes",
  version: "1.0.0",
  tier: "destructive",
  operations: [
    {
      name: "get-pods",
      tier: "read-only",
      description: "List the pods of a namespace with their phase, readiness and restarts.",
      paramsSchema: params({ namespace }, { labelSelector, limit }),
    },
    {
      name: "describe",
      tier: "read-only",
      description: "Show one pod or workload with its conditions and recent events.",
      paramsSchema: params({ namespace, kind: { enum: ["pod", ...workload.enum] }, name }),
    },
    {
      name: "logs",
      tier: "read-only",
      description: "Read the last lines that a container of a pod logged.",
      paramsSchema: params(
        { namespace, pod },
        {
          container: dnsLabel,
          tailLines: { type: "integer", minimum: 1, maximum: 2000, default: 200 },
          sinceSeconds: { type: "integer", minimum: 1, maximum: 86_400 },
          previous: { type: "boolean", default: false, description: "Of the container's run before this one." },
        },
      ),
    },
    {
      name: "events",
      tier: "read-only",
      description: "List recent events of a namespace or of one object in it.",
      paramsSchema: params({ namespace }, { name, kind: { type: "string", pattern: "^[A-Za-z]{1,63}$" }, limit }),
    },
    {
      name: "rollout-status",
      tier: "read-only",
      description: "Show how far the rollout of a workload has come.",
      paramsSchema: params({ namespace, kind: workload, name }),
    },
    {
      name: "restart-pod",
      tier: "mutating",
      description: "Delete one pod that a controller replaces, and wait for its replacement.",
      paramsSchema: params({ namespace, pod }),
    },
    {
      name: "rollout-restart",
      tier: "mutating",
      description: "Replace all pods of a workload, a few at a time.",
      paramsSchema: params({ namespace, kind: workload, name }),
    },
    {
      name: "scale",
      tier: "mutating",
      description: "Set the number of replicas of a workload.",
      paramsSchema: params({
        namespace,
        kind: { enum: ["deployment", "statefulset"] },
        name,
        replicas: { type: "integer", minimum: 0, maximum: 1000 },
      }),
    },
    {
      name: "delete-pod",
      tier: "destructive",
      description: "Delete any pod, also one that nothing replaces.",
      paramsSchema: params({ namespace, pod }, { gracePeriodSeconds: { type: "integer", minimum: 0, maximum: 3600 } }),
    },
    {
      name: "cordon-node",
      tier: "mutating",
      scope: "cluster",
      description: "Keep new pods off one node; works only after the customer allows it for this deployment.",
      paramsSchema: params({ name: node }),
    },
    {
      name: "uncordon-node",
      tier: "mutating",
      scope: "cluster",
      description: "Let new pods onto one node again; works only after the customer allows it for this deployment.",
      paramsSchema: params({ name: node }),
    },
  ],
};

/**
 * No command can invoke it, and it is always enabled: access requests for debug sessions name its operations (§2.1).
 */
const DEBUG: PluginDefinition = {
  name: "debug",
  version: "1.0.0",
  tier: "destructive",
  operations: [
    debugOperation("read", "read-only", "Read objects of a namespace for the length of a debug session."),
    debugOperation("logs", "read-only", "Read logs of a namespace for the length of a debug session."),
    debugOperation("port-forward", "mutating", "Open connections to ports of pods in a namespace."),
    debugOperation("exec", "destructive", "Run commands inside containers of a namespace."),
  ],
};

/**
 * No command can invoke it, and it is always enabled: access requests name its operations, and an approved line lets the
 * customer's cluster follow a wish for that machine (§10.5).
 */
const MACHINES: PluginDefinition = {
  name: "machines",
  version: "1.0.0",
  tier: "destructive",
  operations: [
    {
      name: "drain",
      tier: "mutating",
      scope: "cluster",
      description: "Empty one machine by evictions that respect every budget; covers a drain that was asked for.",
      paramsSchema: params({ machineId }),
    },
    {
      name: "remove",
      tier: "destructive",
      scope: "cluster",
      description: "Remove one machine from the cluster for good, once it is empty or long gone.",
      paramsSchema: params({ machineId }),
    },
  ],
};

export const DEBUG_PLUGIN = DEBUG.name;
export const MACHINES_PLUGIN = MACHINES.name;

/** In the order in which they are listed. */
export const BUILTIN_PLUGINS: readonly PluginDefinition[] = [DEBUG, KUBERNETES, MACHINES];

/** Their operations are only lines of access requests: no command runs one, and no project switches them. */
export const LINES_ONLY_PLUGINS: readonly string[] = [DEBUG.name, MACHINES.name];

/** Enabled in a new project; those of `LINES_ONLY_PLUGINS` need no enabling. */
export const DEFAULT_ENABLED_BUILTINS: readonly string[] = [KUBERNETES.name];

function debugOperation(mode: string, tier: Tier, description: string): PluginOperation {
  const optional = {
    ...(mode === "read" ? {} : { selector: podSelector }),
    ...(mode === "port-forward" ? { ports } : {}),
  };
  // `mode` repeats the operation's name, so that the params alone say what is asked for.
  return {
    name: mode,
    tier,
    description,
    paramsSchema: params({ namespace, mode: { const: mode }, clientKey }, optional),
  };
}
