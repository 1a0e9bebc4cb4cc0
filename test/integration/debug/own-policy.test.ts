import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { namespace } from "../../world/installation.ts";
import { eventually } from "../../world/wait.ts";
import { DEBUG_NAMESPACE } from "./debug-world.ts";

// A customer's own policy on what may run in a container. No kubelet runs: what passes admission fails at the pod's host.

const EXAMPLE = join(import.meta.dirname, "../../../deploy/examples/debug-sessions/exec-commands.yaml");
const ACCOUNT = "debug-0badcafe0000";
const cluster = useCluster();
let session: string;
let person: string;

beforeAll(async () => {
  const api = "rbac.authorization.k8s.io";
  const subjects = [
    { kind: "ServiceAccount", name: ACCOUNT, namespace: DEBUG_NAMESPACE },
    { apiGroup: api, kind: "User", name: "alice" },
  ];
  const rules = [
    { apiGroups: [""], resources: ["pods"], verbs: ["get"] },
    { apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"] },
  ];
  await cluster().apply([
    namespace(DEBUG_NAMESPACE),
    namespace("shop"),
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: ACCOUNT, namespace: DEBUG_NAMESPACE } },
    { apiVersion: `${api}/v1`, kind: "Role", metadata: { name: "exec", namespace: "shop" }, rules },
    {
      ...{ apiVersion: `${api}/v1`, kind: "RoleBinding", metadata: { name: "exec", namespace: "shop" } },
      ...{ roleRef: { apiGroup: api, kind: "Role", name: "exec" }, subjects },
    },
    {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "shop" } },
      spec: { containers: [{ name: "main", image: "example.com/main:1" }] },
    },
  ]);
  await cluster().apply(readFileSync(EXAMPLE, "utf8"));
  session = await cluster().kubeconfigForServiceAccount(DEBUG_NAMESPACE, ACCOUNT);
  person = cluster().kubeconfigFor({ user: "alice" });
  await eventually(
    () => exec(session, {}, "rm"),
    (words) => words.includes("only echo"),
  );
});

/** Over WebSocket, as kubectl does now, or over SPDY. */
async function exec(kubeconfig: string, env: Record<string, string>, ...command: string[]): Promise<string> {
  const args = ["exec", "web", "-n", "shop", "--", ...command];
  return (await cluster().kubectl(args, { kubeconfig, env })).stderr;
}

const SPDY = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false" };
const REFUSED = "in a debug session only echo, cat, ls, df, ps and env without arguments may run here, not ";

test.each([
  ["WebSocket", {}],
  ["SPDY", SPDY],
])("over %s, only the commands that the customer lists pass, and only for sessions", async (_, env) => {
  expect(await exec(session, env, "rm", "-rf", "/data")).toContain(`${REFUSED}rm`);
  expect(await exec(session, env, "sh", "-c", "echo")).toContain(`${REFUSED}sh`);
  expect(await exec(session, env, "env", "sh", "-c", "id")).toContain(`${REFUSED}env`);
  for (const [kubeconfig, command] of [
    [session, "echo"],
    [session, "env"],
    [person, "rm"],
  ] as const) {
    const words = await exec(kubeconfig, env, command);
    expect(words).not.toContain(REFUSED);
    expect(words).toContain("does not have a host assigned");
  }
});
