import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { credentialsOf, kubeconfigText } from "../../../lab/cluster/kubeconfig.ts";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { ApiRecorder } from "./api-recorder.ts";
import { parseCommandLine } from "./command-line.ts";
import { requestOf } from "./command-request.ts";
import { readServedKinds, type ServedKind } from "./served-kinds.ts";

// The attack tables trust that a line is the request that kubectl would send: here both are compared.

const cluster = useCluster();
let recorder: ApiRecorder;
let kubeconfig: string;
let kinds: readonly ServedKind[];

const WEB = { replicas: 1, selector: { matchLabels: { app: "web" } } };
const POD = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "example.com/web:1" }] } };
const web = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "default" } };
const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "fresh", namespace: "default" } };

beforeAll(async () => {
  const metadata = { ...web.metadata, labels: { "app.example/c": "d" } };
  await cluster().apply([{ ...web, metadata, spec: { ...WEB, template: POD } }]);
  const admin = credentialsOf(readFileSync(cluster().adminKubeconfig, "utf8"));
  recorder = new ApiRecorder(admin);
  kubeconfig = join(cluster().dir, "recorder.kubeconfig");
  writeFileSync(kubeconfig, kubeconfigText("admin", { server: await recorder.start(), ca: admin.ca }));
  kinds = await readServedKinds(cluster());
});
afterAll(() => recorder?.[Symbol.dispose]());

const merge = (body: object) => ["--type=merge", "-p", JSON.stringify(body)];
const LABEL = JSON.stringify([{ op: "add", path: "/metadata/labels", value: { a: "b" } }]);

describe("sends what kubectl sends", () => {
  test.each<[line: string, more?: readonly string[], stdin?: object]>([
    ["create --dry-run=server -f -", [], configMap],
    ["create -n default --dry-run=server -f -", [], { ...configMap, metadata: { name: "fresh" } }],
    ["create --raw /api/v1/namespaces/default/configmaps?dryRun=All -f -", [], configMap],
    ["create token default -n default"],
    ["create token default -n default --duration=2h --audience=vault"],
    ["create serviceaccount fresh -n default"],
    ["create rolebinding fresh -n default --clusterrole=view --user=jo --serviceaccount=shop:web --dry-run=server"],
    ["create clusterrolebinding fresh --clusterrole=view --group=team --dry-run=server"],
    ["apply --server-side --dry-run=server -f -", [], configMap],
    ["apply --server-side --force-conflicts --validate=false --dry-run=server -f -", [], configMap],
    ["patch deployment web -n default --dry-run=server -p", [JSON.stringify({ spec: { paused: true } })]],
    ["patch deploy/web -n default --dry-run=server", merge({ spec: { paused: true } })],
    ["patch deployment web -n default --subresource=status", merge({ status: { observedGeneration: 1 } })],
    ["patch deployments.apps web -n default --type=json --dry-run=server -p", [LABEL]],
    ["label deployment web -n default --overwrite --dry-run=server a=b app.example/c-"],
    ["annotate deployment web -n default a=b=c --dry-run=server"],
    ["scale deployment web -n default --replicas=3 --dry-run=server"],
    ["delete deployment web -n default --dry-run=server"],
    ["delete deployment web -n default --wait=false --cascade=orphan --dry-run=server"],
    ["delete serviceaccount fresh -n default"],
  ])("%s", async (line, more = [], stdin = undefined) => {
    const args = [...line.split(" "), ...more];
    recorder.sent.length = 0;
    const input = stdin === undefined ? {} : { stdin: JSON.stringify(stdin) };
    const { code, stderr } = await cluster().kubectl(args, { kubeconfig, ...input });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const parsed = parseCommandLine(args);
    const request = parsed && requestOf(parsed, stdin, kinds);
    if (request === undefined) throw new Error("not known");
    const { method = "GET", path, body, contentType = "application/json" } = request.call;
    const url = new URL(path, cluster().server);
    const query = Object.fromEntries(url.searchParams);
    const [sent, ...others] = recorder.sent;
    expect(others).toEqual([]);
    expect(sent).toMatchObject({ method, path: url.pathname });
    expect(sent?.query).toEqual(query);
    // kubectl writes kinds that it knows as protobuf, in which texts stand as they are.
    if (typeof sent?.body === "string") {
      for (const text of textsIn(body)) expect(sent.body).toContain(text);
    } else expect(sent).toMatchObject({ contentType: line.includes("--raw") ? "" : contentType, body });
  });
});

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

test.each([
  "attach pod -n shop",
  "rollout restart deployment/web",
  "delete pod web --grace-period=0 --force",
  "get pods --field-selector=status.phase=Running",
  "get pods -o jsonpath={.items}",
  "patch unknown web -p {}",
  "delete pods web api",
])("leaves to kubectl what it does not know: %s", (line) => {
  const parsed = parseCommandLine(line.split(" "));
  expect(parsed && requestOf(parsed, undefined, kinds)).toBeUndefined();
});
