import { ROLLOUT_UID_LABEL, rolloutAccount } from "../../../src/crds/release-names.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import type { Passage } from "../attacks.ts";
import { MEMBER, ownerOf, PLAN, ROLLOUT_RUN, released, releasedDeployment } from "../releases/released-objects.ts";
import {
  account,
  binding,
  claimOf,
  content,
  DIGEST,
  marked,
  OTHER_UID,
  owner,
  rollout,
  say,
  type Who,
} from "./release-writes.ts";
import { create } from "./writes.ts";

const bare = { [ROLLOUT_UID_LABEL]: OTHER_UID };

export const RELEASE_PASSAGES: readonly Passage<Who>[] = [
  {
    title: "the agent writes what a release installs",
    as: "agent",
    passes: ["sallyport-release-content"],
    ...create(() => content("rel-9")),
  },
  {
    title: "the agent asks for a rollout",
    as: "agent",
    passes: ["sallyport-rollout-words"],
    ...create(() => rollout("asked")),
  },
  {
    title: "the operator makes the account of a rollout",
    as: "operator",
    passes: ["sallyport-operator-objects"],
    ...create(() => account(rolloutAccount(ownerOf(OTHER_UID)), { labels: bare, ownerReferences: [owner(OTHER_UID)] })),
  },
  {
    title: "the operator lends the role to the account that plans",
    as: "operator",
    passes: ["sallyport-operator-bindings"],
    ...create(() => binding({ account: PLAN })),
  },
  { title: "the operator lends it to the one that carries out", as: "operator", ...create(() => binding()) },
  {
    title: "the operator acts as that account",
    as: "operator",
    passes: ["sallyport-operator-tokens"],
    args: ["create", "token", ROLLOUT_RUN, "-n", GRANTS, "--duration=10m"],
  },
  {
    title: "the operator removes it",
    as: "operator",
    passes: ["sallyport-operator-accounts"],
    args: ["delete", "serviceaccount", ROLLOUT_RUN, "-n", GRANTS, "--dry-run=server"],
  },
  {
    title: "the operator removes an old record",
    as: "operator",
    args: ["delete", "rout", "ended", "-n", GRANTS, "--dry-run=server"],
  },
  {
    title: "the account that plans tries a Deployment",
    as: "plan",
    passes: ["sallyport-plan-accounts"],
    ...create(() => releasedDeployment("fresh")),
  },
  { title: "it tries a deletion", as: "plan", args: ["delete", "configmap", "member", "-n", SHOP, "--dry-run=server"] },
  { title: "it asks what it may do", as: "plan", args: ["auth", "can-i", "create", "deployments", "-n", SHOP] },
  {
    title: "a rollout installs a Deployment",
    as: "rollout",
    passes: ["sallyport-rollout-objects"],
    ...create(() => releasedDeployment("fresh")),
  },
  {
    title: "with the account that the release brings",
    as: "rollout",
    passes: ["sallyport-rollout-service-accounts"],
    ...create(() => releasedDeployment("fresh", { serviceAccountName: "own", automountServiceAccountToken: true })),
  },
  {
    title: "with one that does not exist yet",
    as: "rollout",
    ...create(() => releasedDeployment("fresh", { serviceAccountName: "new" })),
  },
  {
    title: "what it reads is named, its own, or not there yet",
    as: "rollout",
    passes: ["sallyport-rollout-config-maps"],
    ...create(() =>
      releasedDeployment(
        "fresh",
        {
          volumes: [
            { name: "a", configMap: { name: "shop-settings" } },
            { name: "b", persistentVolumeClaim: { claimName: "data-cache-0" } },
            { name: "c", configMap: { name: "member" } },
            { name: "d", configMap: { name: "new" } },
          ],
          imagePullSecrets: [{ name: "shop-pull" }],
        },
        { envFrom: [{ secretRef: { name: `cfg-dpl-shop-1-${"0a".repeat(16)}` } }] },
      ),
    ),
  },
  {
    title: "what it names of the customer's is named by the customer",
    as: "rollout",
    ...create(() =>
      releasedDeployment(
        "fresh",
        {
          ...{ priorityClassName: "shop-high", runtimeClassName: "gvisor", schedulerName: "shop" },
          resourceClaims: [{ name: "g", resourceClaimName: "shop-gpu" }],
          hostname: "web",
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "fresh" } } },
              ],
            },
          },
        },
        { resources: { limits: { "shop.example/gpu": "1", cpu: "1" } } },
        {
          annotations: { "nginx.ingress.kubernetes.io/a": "b" },
          labels: { ...MEMBER, "shop.example/tier": "a", tier: "a" },
        },
      ),
    ),
  },
  {
    title: "it annotates pods with what no controller obeys",
    as: "rollout",
    ...create(() => {
      const annotations = { "checksum/config": "a", "prometheus.io/scrape": "true", note: "a" };
      return released("apps/v1", "Deployment", "fresh", { spec: { ...marked({}, { annotations }), replicas: 100 } });
    }),
  },
  {
    title: "it makes a Service without an address, under its own name or that of its namespace",
    as: "rollout",
    passes: ["sallyport-rollout-service-names"],
    ...create(() => released("v1", "Service", SHOP, { spec: { clusterIP: "None", ports: [{ port: 80 }] } })),
  },
  {
    title: "it changes what the customer has scaled beyond that",
    as: "rollout",
    args: [
      ...["patch", "deployment", "scaled", "-n", SHOP, "--dry-run=server", "-p"],
      JSON.stringify({ spec: { paused: false } }),
    ],
  },
  {
    title: "it makes a claim that a StatefulSet of its own takes",
    as: "rollout",
    passes: ["sallyport-rollout-claim-names"],
    ...create(() => released("v1", "PersistentVolumeClaim", "data-own-set-0", claimOf({}))),
  },
  {
    title: "it makes a claim whose name only begins like one of a StatefulSet",
    as: "rollout",
    ...create(() => released("v1", "PersistentVolumeClaim", "data-vault-backup", claimOf({}))),
  },
  {
    title: "a StatefulSet takes the claims that one of its own has left",
    as: "rollout",
    passes: ["sallyport-rollout-volume-claims"],
    ...create(() =>
      released("apps/v1", "StatefulSet", "own", {
        spec: {
          ...marked({}),
          ...{ serviceName: "own", volumeClaimTemplates: [{ metadata: { name: "data" }, ...claimOf({}) }] },
        },
      }),
    ),
  },
  {
    title: "it changes what the customer has had read a Secret",
    as: "rollout",
    args: [
      "patch",
      "deployment",
      "reading",
      "-n",
      SHOP,
      "--dry-run=server",
      "-p",
      JSON.stringify({ spec: { paused: true } }),
    ],
  },
  { title: "it brings an account", as: "rollout", ...create(() => released("v1", "ServiceAccount", "new")) },
  {
    title: "it claims a volume",
    as: "rollout",
    ...create(() =>
      released("v1", "PersistentVolumeClaim", "fresh", {
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      }),
    ),
  },
  {
    title: "it changes what was installed",
    as: "rollout",
    args: ["annotate", "deployment", "member", "-n", SHOP, "a=b", "--dry-run=server"],
  },
  {
    title: "it changes what the customer has bound to a node",
    as: "rollout",
    args: [
      "patch",
      "deployment",
      "pinned",
      "-n",
      SHOP,
      "--dry-run=server",
      "-p",
      JSON.stringify({ spec: { paused: true } }),
    ],
  },
  { title: "it prunes it", as: "rollout", args: ["delete", "deployment", "member", "-n", SHOP, "--dry-run=server"] },
  {
    title: "it lets one go, unlabelled, to the customer who has changed it",
    as: "rollout",
    args: [
      "label",
      "deployment",
      "touched",
      "-n",
      SHOP,
      "--dry-run=server",
      ...Object.keys(MEMBER).map((label) => `${label}-`),
    ],
  },
  { title: "a person on call pauses it", as: "oncall", args: say("waiting", { pausedReason: "peak hours" }) },
  {
    title: "who may approve changes lets it go on after a pause",
    as: "mutator",
    args: say("paused", { pausedReason: null }),
  },
  { title: "a person on call pauses it anew", as: "oncall", args: say("paused", { pausedReason: "and tomorrow" }) },
  { title: "a person on call stops it", as: "oncall", args: say("waiting", { abortReason: "peak hours" }) },
  {
    title: "who may approve changes lets an update go on",
    as: "mutator",
    passes: ["sallyport-named-rollout-words"],
    args: say("waiting", { approvedDigest: DIGEST }),
  },
  { title: "an approver lets a deletion go on", as: "approver", args: say("leaving", { approvedDigest: DIGEST }) },
  {
    title: "an approver takes fields over",
    as: "approver",
    args: say("waiting", { takeOver: [{ kind: "Deployment", name: "web" }] }),
  },
];
