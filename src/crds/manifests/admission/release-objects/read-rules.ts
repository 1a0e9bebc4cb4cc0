import { RELEASE_SECRET_END, RELEASE_SECRET_PREFIX } from "../../../release-secret.ts";
import { type MayRead, READ_FIELDS, READ_KINDS, type ReadKind } from "../../../released/may-read.ts";
import { forbid, type Named, quoted, type Validation } from "../admission-policy.ts";

const CONTAINERS = ["containers", "initContainers", "ephemeralContainers"];

/** CEL: lists of the names that a pod reads objects of this kind by, many of them empty. */
function namesIn(pod: string, kind: ReadKind): string {
  const { volume, source, env, envFrom } = READ_FIELDS[kind];
  const listed = (list: string): string => `variables.${pod}[?'${list}'].orValue([])`;
  const name = (of: string, ...path: readonly string[]): string =>
    `${of}${path.map((field) => `[?'${field}']`).join("")}.orValue('')`;
  const containers = `(${CONTAINERS.map(listed).join(" + ")})`;
  const lists = [`[${listed("volumes")}.map(v, ${name("v", ...volume)})]`];
  if (kind === "Secret") lists.push(`[${listed("imagePullSecrets")}.map(s, ${name("s", "name")})]`);
  if (source !== undefined) {
    const each = `v[?'projected'][?'sources'].orValue([]).map(s, ${name("s", source, "name")})`;
    lists.push(`${listed("volumes")}.map(v, ${each})`);
  }
  if (env !== undefined) {
    lists.push(`${containers}.map(c, c[?'env'].orValue([]).map(e, ${name("e", "valueFrom", env, "name")}))`);
  }
  if (envFrom !== undefined) {
    lists.push(`${containers}.map(c, c[?'envFrom'].orValue([]).map(e, ${name("e", envFrom, "name")}))`);
  }
  return lists.join(" + ");
}

/** CEL: what pods of the written object read, and read before, and what they may read that no release brings. */
export function readVariables(kind: ReadKind, mayRead: MayRead): readonly Named[] {
  const patterns = mayRead[READ_KINDS[kind]];
  return [
    { name: `reads${kind}`, expression: namesIn("pod", kind) },
    { name: `read${kind}`, expression: namesIn("wasPod", kind) },
    {
      // An empty list is one empty name, which a template can write.
      name: `may${kind}`,
      expression: `[${quoted(patterns.length === 0 ? [""] : patterns)}].filter(p, p != '')`,
    },
  ];
}

/** CEL: an object of this kind may be read by the name `n`: the customer has named it, or has put it there. */
export function isReadable(kind: ReadKind): string {
  return (
    `variables.may${kind}.exists(p, p.endsWith('*') ? n.startsWith(p.substring(0, p.size() - 1)) : n == p) || ` +
    `variables.read${kind}.exists(was, n in was)`
  );
}

/**
 * A release brings no Secret but those of its own configurations: all others are known by their names alone. Secrets of
 * other deployments' configurations lie beside them, and no pattern of the customer's names these.
 */
export function secretRules(): readonly Validation[] {
  const prefix = `'${RELEASE_SECRET_PREFIX}' + variables.deployment + '-'`;
  const own = `(n.startsWith(${prefix}) && n.substring((${prefix}).size()).matches('${RELEASE_SECRET_END.source}'))`;
  const others = `(!n.startsWith('${RELEASE_SECRET_PREFIX}') || variables.readSecret.exists(was, n in was))`;
  const [tls, wasTls] = ["now", "was"].map((state) => `variables.${state}[?'spec'][?'tls'].orValue([])`);
  return [
    forbid(
      `!variables.runsPods || variables.readsSecret.all(names, names.all(n, n == '' || ${own} || (${others} && (${isReadable("Secret")}))))`,
      "a rollout reads only Secrets that releases may read (releases.mayRead.secrets)",
    ),
    forbid(
      `!variables.changes || variables.kind != 'Ingress.networking.k8s.io' || ${tls}.map(t, t[?'secretName'].orValue('')).all(n, n == '' || ` +
        `${isReadable("Secret")} || ${wasTls}.exists(t, t[?'secretName'].orValue('') == n))`,
      "a rollout serves only with Secrets that releases may read (releases.mayRead.secrets)",
    ),
  ];
}
