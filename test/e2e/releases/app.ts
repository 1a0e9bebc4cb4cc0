import type { Scene } from "../scene.ts";

// What the vendor of the test releases: rules of the network, then a store, then a front that asks the store. The
// programs run in our image, because each node has it and nothing can be pulled.

export const PORT = 8080;
export const STORE = "store";
export const FRONT = "front";
/** Namespace of the customer that no release is accepted for. */
export const VISITORS = "visitors";

/** What differs from release to release. */
export interface Version {
  readonly version: string;
  /** Of the front. @default the scene's */
  readonly image?: string;
  /** Path that the store's readiness probe asks. @default one that answers */
  readonly readiness?: string;
  /** @default Kubernetes' own, ten minutes */
  readonly deadlineSeconds?: number;
  /** Of the store, which is not touched by a release that has the same. */
  readonly store: string;
}

/** Serves for a while after the order to end: kube-proxy and DNS hear of a pod's end later than the pod. */
const SERVE = `const http = require("http");
const answer = async () => {
  if (process.env.BEHIND === undefined) return process.env.SAYS;
  const behind = await fetch(process.env.BEHIND, { signal: AbortSignal.timeout(20_000) });
  return process.env.SAYS + " of " + (await behind.text());
};
http.createServer((asked, told) => {
  if (asked.url === "/broken") return told.writeHead(500).end();
  if (asked.url === "/alive") return told.end("yes");
  answer().then((text) => told.end(text), (error) => told.writeHead(502).end(String(error.cause ?? error)));
}).listen(${PORT});
process.on("SIGTERM", () => setTimeout(() => process.exit(0), 4000));`;

/** Three waves, as the file of `sallyport release create --stack` has them. */
export function appStack({ image }: Scene, given: Version): object {
  const { version, store, readiness = "/alive", deadlineSeconds } = given;
  const update = {
    maxUnavailable: 0,
    maxSurge: 1,
    ...(deadlineSeconds && { progressDeadlineSeconds: deadlineSeconds }),
  };
  const container = (id: string, says: string, path: string, own: object) => ({
    ...{ id, type: "container", image: image.name, command: ["/app/node", "-e", SERVE], ports: [{ port: PORT }] },
    ...{ cpu: "10m", memory: "128Mi", update, env: [{ name: "SAYS", value: says }] },
    probes: { readiness: { path, port: PORT, periodSeconds: 1 } },
    ...own,
  });
  const front = {
    replicas: 2,
    ...(given.image !== undefined && { image: given.image }),
    env: [
      { name: "SAYS", value: `front ${version}` },
      { name: "BEHIND", value: `http://${STORE}:${PORT}/` },
    ],
  };
  return {
    id: "shop",
    resources: {
      network: live({ id: "network", type: "manifests", objects: networkRules() }),
      [STORE]: live(container(STORE, `store ${store}`, readiness, {}), "network"),
      [FRONT]: live(container(FRONT, "", "/alive", front), STORE),
    },
  };
}

/** The customer denies all traffic of the namespace: the release opens what it needs, for its own pods. */
function networkRules(): readonly object[] {
  const policy = (name: string, spec: object) => ({
    ...{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name }, spec },
  });
  const visitors = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": VISITORS } } };
  const ports = [{ port: PORT, protocol: "TCP" }];
  const dns = ["TCP", "UDP"].map((protocol) => ({ port: 53, protocol }));
  return [
    policy("shop-inside", {
      podSelector: {},
      policyTypes: ["Ingress", "Egress"],
      ingress: [{ from: [{ podSelector: {} }], ports }],
      egress: [{ to: [{ podSelector: {} }], ports }, { ports: dns }],
    }),
    policy("shop-front", {
      podSelector: { matchLabels: { "app.kubernetes.io/name": FRONT } },
      policyTypes: ["Ingress"],
      ingress: [{ from: [visitors], ports }],
    }),
  ];
}

function live(config: object, ...needs: readonly string[]): object {
  return { config, dependencies: needs, lifecycle: "live" };
}
