import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LOG_SETTINGS } from "../../src/cli/services/log-settings.ts";
import { OPERATOR_SETTINGS } from "../../src/operator/kernel/config.ts";
import { TUNNEL_SETTINGS } from "../../src/tunnel/kernel/config.ts";
import { CHART, envOf, ofKind, one, podOf, REQUIRED, type Rendered, useHelm } from "./use-helm.ts";

const helm = useHelm();
const example = join(CHART, "ci", "debug-values.yaml");
const on = (debugSessions: object = {}, more: object = {}): object => ({
  ...REQUIRED,
  namespaces: ["shop"],
  ...more,
  debugSessions: { enabled: true, ...debugSessions },
});
const refusal = async (values: object): Promise<string> => (await helm.template(values)).stderr;
const tunnelOf = (objects: readonly Rendered[]): Rendered => one(objects, "Deployment", "sallyport-tunnel");

describe("by default", () => {
  test("nothing of debug sessions is there", async () => {
    const objects = await helm.render({ ...REQUIRED, namespaces: ["shop"], networkPolicy: { enabled: true } });
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`);
    expect(names.filter((name) => /tunnel|sallyport-debug\b|op-debug/.test(name))).toEqual([]);
  });

  test("also where the tunnel's own values are set", async () => {
    const objects = await helm.render({ ...REQUIRED, tunnel: { replicas: 3 } });
    expect(ofKind(objects, "Deployment").map(({ metadata }) => metadata.name)).not.toContain("sallyport-tunnel");
  });
});

describe("the tunnel", () => {
  test("has the platform's address and key, its bounds, and a spool that can be written", async () => {
    const objects = await helm.render(on());
    const pod = podOf(objects, "sallyport-tunnel");
    expect(pod.containers[0].args).toEqual(["tunnel"]);
    expect(pod.serviceAccountName).toBe("sallyport-tunnel");
    expect(envOf(pod)).toMatchObject({
      SALLYPORT_PLATFORM_URL: "https://platform.example.com",
      SALLYPORT_TUNNEL_MAX_TTL: "1h",
      SALLYPORT_TUNNEL_IDLE: "15m",
      SALLYPORT_TUNNEL_MAX_CONCURRENT: "3",
      SALLYPORT_TUNNEL_RECORDING: "required",
      SALLYPORT_TUNNEL_STRICT: "true",
      SALLYPORT_TUNNEL_UPLOAD: "true",
    });
    const folder = envOf(pod).SALLYPORT_TUNNEL_SPOOL_FOLDER;
    expect(pod.containers[0].volumeMounts).toContainEqual({ name: "spool", mountPath: folder });
    // Twice the bound that the process keeps: the kubelet would evict the pod, and every session with it.
    expect(pod.volumes).toContainEqual({ name: "spool", emptyDir: { sizeLimit: "512Mi" } });
    expect(envOf(pod).SALLYPORT_TUNNEL_SPOOL_SIZE).toBe("256Mi");
  });

  test("sends files to hosts that the customer names, and gives a session the room that they say", async () => {
    const values = on({ uploadHosts: ["b.s3.example", "b.example:9000"], audit: { sessionSize: "32Mi" } });
    expect(envOf(podOf(await helm.render(values), "sallyport-tunnel"))).toMatchObject({
      SALLYPORT_TUNNEL_UPLOAD_HOSTS: "b.s3.example,b.example:9000",
      SALLYPORT_TUNNEL_SESSION_SPOOL_SIZE: "32Mi",
    });
    expect(await refusal(on({ uploadHosts: ["https://b.s3.example"] }))).toContain("uploadHosts");
    expect(await refusal(on({ audit: { sessionSize: "much" } }))).toContain("sessionSize");
  });

  test("is given only settings that it reads", async () => {
    const known = new Set([...Object.values(TUNNEL_SETTINGS), ...Object.values(LOG_SETTINGS)].map(({ env }) => env));
    const given = Object.keys(envOf(podOf(await helm.render(example), "sallyport-tunnel")));
    expect(given.filter((name) => name.startsWith("SALLYPORT_") && !known.has(name))).toEqual([]);
  });

  test("has no more of the agent's than that", async () => {
    const names = Object.keys(envOf(podOf(await helm.render(on()), "sallyport-tunnel")));
    expect(names.filter((name) => /NAMESPACES|OBSERVED|REDACT|LEASE|DEPLOYMENTS/.test(name))).toEqual([]);
  });

  test("on a claim stops before the next one starts, and is one", async () => {
    const objects = await helm.render(example);
    expect(tunnelOf(objects).spec.strategy).toEqual({ type: "Recreate" });
    const { volumes } = podOf(objects, "sallyport-tunnel");
    expect(volumes).toContainEqual({ name: "spool", persistentVolumeClaim: { claimName: "debug-audit" } });
    const values = on({ audit: { existingClaim: "debug-audit" } }, { tunnel: { replicas: 2 } });
    expect(await refusal(values)).toContain("two tunnels would write into one spool");
  });

  test("is updated like the others without a claim, and has a budget when it is several", async () => {
    const objects = await helm.render(on({}, { tunnel: { replicas: 2 } }));
    expect(tunnelOf(objects).spec.strategy.type).toBe("RollingUpdate");
    expect(one(objects, "PodDisruptionBudget", "sallyport-tunnel").spec.maxUnavailable).toBe(1);
  });

  test("is scraped, asked by helm test, and let to the platform and the API server", async () => {
    const objects = await helm.render(example);
    for (const kind of ["Service", "ServiceMonitor", "NetworkPolicy"]) one(objects, kind, "sallyport-tunnel");
    const { egress } = one(objects, "NetworkPolicy", "sallyport-tunnel").spec;
    expect(egress).toEqual(one(objects, "NetworkPolicy", "sallyport-agent").spec.egress);
    expect(one(objects, "Pod", "sallyport-check").spec.containers[0].args).toContain(
      "--ready=tunnel=http://sallyport-tunnel:8080/readyz",
    );
    const cilium = await helm.render(on({}, { networkPolicy: { enabled: true, cilium: { enabled: true } } }));
    expect(one(cilium, "CiliumNetworkPolicy", "sallyport-tunnel").spec.egress).toEqual(
      one(cilium, "CiliumNetworkPolicy", "sallyport-agent").spec.egress,
    );
  });

  test("goes through the proxy and trusts the authority that the agent does", async () => {
    const more = { proxy: { https: "http://proxy.example.com:3128" }, trustedCA: { configMap: "corporate-ca" } };
    const env = envOf(podOf(await helm.render(on({}, more)), "sallyport-tunnel"));
    expect(env).toMatchObject({
      HTTPS_PROXY: "http://proxy.example.com:3128",
      NODE_EXTRA_CA_CERTS: expect.any(String),
    });
  });
});

test("the operator is told the same bounds, with settings that it reads", async () => {
  const env = envOf(podOf(await helm.render(example), "sallyport-operator"));
  expect(env).toMatchObject({
    SALLYPORT_OPERATOR_DEBUG_ENABLED: "true",
    SALLYPORT_OPERATOR_DEBUG_MODES: "logs,read,exec,port-forward",
    SALLYPORT_OPERATOR_DEBUG_MAX_TTL: "2h",
    SALLYPORT_OPERATOR_DEBUG_MAX_CONCURRENT: "5",
  });
  const known = new Set([...Object.values(OPERATOR_SETTINGS), ...Object.values(LOG_SETTINGS)].map((each) => each.env));
  expect(Object.keys(env).filter((name) => name.startsWith("SALLYPORT_") && !known.has(name))).toEqual([]);
  const off = envOf(podOf(await helm.render(REQUIRED), "sallyport-operator"));
  expect(Object.keys(off).filter((name) => name.includes("DEBUG"))).toEqual([]);
});

test("the agent is told which modes are on", async () => {
  const modes = async (values: object | string): Promise<unknown> =>
    envOf(podOf(await helm.render(values), "sallyport-agent")).SALLYPORT_AGENT_DEBUG_MODES;
  expect(await modes(REQUIRED)).toBe("none");
  expect(await modes(on())).toBe("logs,read");
  expect(await modes(example)).toBe("logs,read,exec,port-forward");
});

test("the accounts of sessions have a namespace that goes with the release", async () => {
  const { metadata } = one(await helm.render(on()), "Namespace", "sallyport-debug");
  expect(metadata.annotations?.["helm.sh/resource-policy"]).toBeUndefined();
  const made = ofKind(await helm.render(on({ createNamespace: false })), "Namespace");
  expect(made.map(({ metadata: { name } }) => name)).toEqual(["sallyport-grants"]);
});

describe("refused with words", () => {
  test.each<readonly [string, object, string]>([
    ["approvers that lend", on({}, { lending: { mode: "approver" } }), "lent by the operator alone"],
    ["no mode at all", on({ modes: { logs: false, read: false } }), "every mode of debugSessions.modes is off"],
    ["roles in namespaces alone", on({}, { rbac: { scope: "namespaces" } }), "the roles of the modes are ClusterRoles"],
    [
      "an account that another component has",
      on({}, { tunnel: { serviceAccount: { name: "sallyport-agent" } } }),
      "tunnel and agent have the same ServiceAccount",
    ],
    [
      "grants where the accounts of sessions lie",
      { ...REQUIRED, grantsNamespace: "sallyport-debug" },
      "choose another",
    ],
    ["the accounts' namespace opened", { ...REQUIRED, namespaces: ["sallyport-debug"] }, "cannot be opened"],
    ["an unknown mode", on({ modes: { shell: true } }), "shell"],
    ["a bound that is no duration", on({ maxTTL: "1 hour" }), "maxTTL"],
    ["a longer time than sessions have", on({ maxTTL: "9h" }), "between 1m and 8h"],
    ["a time too short for one", on({ maxTTL: "30s" }), "between 1m and 8h"],
    ["a longer silence than the platform allows", on({ idle: "16m" }), "between 1s and 15m"],
    ["no silence at all", on({ idle: "0s" }), "between 1s and 15m"],
    ["more sessions than a tunnel serves", on({ maxConcurrent: 17 }), "maxConcurrent"],
  ])("%s", async (_case, values, words) => {
    expect(await refusal(values)).toContain(words);
  });
});
