import type { Manifest } from "../../../src/crds/manifest.ts";
import { forbid, type Named, validatingPolicy } from "../../../src/crds/manifests/admission/admission-policy.ts";

// Policies as a cluster has them for requests of certificates: which names, which issuer, how long, for what use. Each says two or
// three short things of the object that is written.

const RULES = [
  forbid("object.spec.dnsNames.all(n, n.endsWith('.example.com'))", "names are below example.com"),
  forbid("!object.spec.dnsNames.exists(n, n.startsWith('*'))", "no wildcard is allowed"),
  forbid(
    "!has(object.spec.commonName) || object.spec.commonName in object.spec.dnsNames",
    "commonName is one of the names",
  ),
  forbid("!has(object.spec.isCA) || !object.spec.isCA", "no certificate of an authority is issued"),
  forbid("has(object.spec.duration) && duration(object.spec.duration) <= duration('2160h')", "90 days at most"),
  forbid(
    "object.spec.issuerRef.kind in ['Issuer', 'ClusterIssuer'] && object.spec.issuerRef.name == 'internal'",
    "the issuer is internal",
  ),
  forbid(
    "object.spec.usages.all(u, u in ['digital signature', 'key encipherment', 'server auth'])",
    "for servers only",
  ),
  forbid(
    "!has(object.spec.uris) || object.spec.uris.all(u, u.startsWith('spiffe://example.com/'))",
    "URIs are SPIFFE's",
  ),
  forbid("!has(object.spec.emailAddresses) || object.spec.emailAddresses.size() == 0", "no e-mail addresses"),
  forbid(
    "!has(object.spec.privateKey) || (object.spec.privateKey.algorithm == 'ECDSA' && object.spec.privateKey.size >= 256)",
    "keys are ECDSA, of 256 bits or more",
  ),
  forbid("object.metadata.namespace.matches('^team-[a-z]+$')", "requests are made in a team's namespace"),
  forbid("oldObject == null || object.spec == oldObject.spec", "what was asked for does not change"),
] as const;

/** `count` policies with their bindings. Each API server compiles each of them, whether they say the same or not. */
export function shortPolicies(count: number): readonly Manifest[] {
  const people: readonly Named[] = [
    { name: "asked-by-a-person", expression: "!request.userInfo.username.startsWith('system:')" },
  ];
  return Array.from({ length: count }, (_, at) =>
    validatingPolicy(
      `bench-certificates-${at}`,
      { apiGroups: ["certificates.example.com"], operations: ["CREATE", "UPDATE"], resources: ["certificates"] },
      {
        matchConditions: people,
        validations: [0, 1, 2].map((nth) => RULES[(at * 3 + nth) % RULES.length] ?? RULES[0]),
      },
    ),
  ).flat();
}
