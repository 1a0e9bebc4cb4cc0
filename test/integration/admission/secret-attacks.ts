import { RELEASES_NAMESPACE } from "../../../src/crds/group.ts";
import { NONCE_KEY, RELEASE_SECRET_PREFIX } from "../../../src/crds/release-secret.ts";
import { SHOP } from "../../world/people.ts";
import type { Attack, Passage } from "../attacks.ts";
import { DEPLOYMENT_ID } from "../operator/operator-world.ts";
import { MEMBER, releasedDeployment } from "../releases/released-objects.ts";
import { create } from "./writes.ts";

// What a stolen agent, or the account of a rollout, may not do with Secrets.

export type Who = "agent" | "rollout";
const HEX = "a".repeat(32);
const OWN = `${RELEASE_SECRET_PREFIX}${DEPLOYMENT_ID.replaceAll("_", "-")}-${HEX}`;
const LABELS = { "sallyport.dev/deployment-id": DEPLOYMENT_ID };
const nonce = { [NONCE_KEY]: "AA==" };
export const secret = (name: string, labels: object, namespace: string, more: object = {}, metadata: object = {}) => ({
  ...{ apiVersion: "v1", kind: "Secret", type: "Opaque", immutable: true, data: nonce },
  metadata: { name, namespace, labels, ...metadata },
  ...more,
});
export const left = (more: object = {}, labels: object = LABELS, name = OWN, metadata: object = {}) =>
  secret(name, labels, RELEASES_NAMESPACE, more, metadata);
export const copied = (more: object = {}, labels: object = MEMBER, name = OWN, metadata: object = {}) =>
  secret(name, labels, SHOP, more, metadata);
const asAgent = { policy: "sallyport-release-secrets", as: "agent" } as const;
const asRollout = { policy: "sallyport-rollout-secrets", as: "rollout" } as const;
const token = { type: "kubernetes.io/service-account-token" };
const OF_ACCOUNT = { annotations: { "kubernetes.io/service-account.name": "default" } };
const large = { A: "x".repeat(400_000) };
const reads = (secretKeyRef: object) => () =>
  releasedDeployment("fresh", {}, { env: [{ name: "A", valueFrom: { secretKeyRef } }] });

export const SECRET_ATTACKS: readonly Attack<Who>[] = [
  {
    ...{
      title: "the agent takes the name of another deployment",
      words: "is named after the deployment",
      ...asAgent,
    },
    ...create(() => left({}, { "sallyport.dev/deployment-id": "dpl_other" })),
  },
  {
    ...{
      title: "the agent leaves a Secret without a deployment",
      words: "is named after the deployment",
      ...asAgent,
    },
    ...create(() => left({}, {})),
  },
  {
    ...{ title: "the agent leaves one that can be changed later", words: "Opaque and immutable", ...asAgent },
    ...create(() => left({ immutable: false })),
  },
  {
    ...{ title: "the agent has an account's token put into one", words: "Opaque and immutable", ...asAgent },
    ...create(() => left(token, LABELS, OWN, OF_ACCOUNT)),
  },
  {
    ...{ title: "the agent leaves one that another controller acts on", words: "no other metadata", ...asAgent },
    ...create(() => left({}, { ...LABELS, "app.kubernetes.io/managed-by": "Helm" })),
  },
  {
    ...{ title: "the agent leaves one whose name can be guessed", words: "nonce of its name", ...asAgent },
    ...create(() => left({ data: { A: "AA==" } })),
  },
  {
    ...{ title: "the agent fills the namespace", words: "256 KiB at most", ...asAgent },
    ...create(() => left({ data: { ...nonce, ...large } })),
  },
  {
    ...{ title: "the agent changes one", words: "changes and deletes no Secret", ...asAgent },
    args: ["label", "secret", OWN, "-n", RELEASES_NAMESPACE, "--dry-run=server", "a=b"],
  },
  {
    ...{ title: "the agent deletes one", words: "changes and deletes no Secret", ...asAgent },
    args: ["delete", "secret", OWN, "-n", RELEASES_NAMESPACE, "--dry-run=server"],
  },
  {
    ...{
      title: "a rollout makes a Secret of another name",
      words: "of its deployment's configuration only",
      ...asRollout,
    },
    ...create(() => copied({}, MEMBER, "db-password")),
  },
  {
    ...{ title: "a rollout makes one with the name of another deployment's", ...asRollout },
    words: "of its deployment's configuration only",
    ...create(() => copied({}, MEMBER, `${RELEASE_SECRET_PREFIX}dpl-other-${HEX}`)),
  },
  {
    ...{ title: "a rollout has an account's token put into one", words: "Opaque and immutable", ...asRollout },
    ...create(() => copied(token, MEMBER, OWN, OF_ACCOUNT)),
  },
  {
    ...{ title: "a rollout changes one, and reads it so", words: "changes no Secret", ...asRollout },
    args: ["label", "secret", OWN, "-n", SHOP, "--dry-run=server", "a=b"],
  },
  {
    ...{
      title: "a rollout deletes a Secret of the customer's",
      words: "of its deployment's configuration only",
      ...asRollout,
    },
    args: ["delete", "secret", "db-password", "-n", SHOP, "--dry-run=server"],
  },
];

export const SECRET_PASSAGES: readonly Passage<Who>[] = [
  {
    title: "the agent leaves a Secret",
    as: "agent",
    passes: ["sallyport-release-secrets"],
    ...create(() => left({}, LABELS, OWN.replace(HEX, "b".repeat(32)))),
  },
  {
    title: "a rollout makes a copy",
    as: "rollout",
    passes: ["sallyport-rollout-secrets"],
    ...create(() => copied({}, MEMBER, OWN.replace(HEX, "b".repeat(32)))),
  },
  {
    title: "a rollout deletes a copy",
    as: "rollout",
    args: () => ["delete", "secret", OWN, "-n", SHOP, "--dry-run=server"],
  },
  { title: "pods read their own", as: "rollout", ...create(reads({ name: OWN, key: "A" })) },
];
