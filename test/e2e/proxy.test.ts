import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CertificateAuthority } from "../../lab/cluster/certificates.ts";
import { isFull } from "../../src/base/testing/full.ts";
import { objectName } from "../../src/crds/group.ts";
import { type ManagedDeployment, managedDeployments } from "../../src/crds/kinds/managed-deployment.ts";
import { Squid, squidProblem } from "../integration/proxy/squid.ts";
import { GRANTS, SHOP, SYSTEM } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { soon, useCast } from "./cast.ts";
import { upgradeSallyport } from "./installation.ts";
import { apply, kubectl } from "./kubectl.ts";

// A real squid that requires a password stands between the agent's pod and the platform, whose certificate is of a
// private authority. The NetworkPolicy opens the way to squid and none to the platform.

const [USER, PASSWORD] = ["sallyport", "p@ss:word/7"] as const;
const [PROXY, AUTHORITY] = ["egress-proxy", "egress-authority"] as const;

// What the agent says of a wrong password and of a proxy that is away, and that all goes through tunnels of its user, is in
// test/integration/proxy, with processes of ours.
const problem = isFull ? squidProblem() : "of a full run";
if (isFull && problem !== undefined) console.warn(`test/e2e/proxy.test.ts is SKIPPED: ${problem}`);

const cast = useCast();
let squid: Squid;

const host = (): string => new URL(cast().scene.vendor.url).hostname;

describe.skipIf(problem !== undefined)("an agent whose only way out is a proxy with a password", () => {
  beforeAll(async () => {
    squid = await Squid.make(USER, PASSWORD, host());
    await squid.start();
    const other = new CertificateAuthority("Somebody Else").certificate;
    const secrets = [secret(PROXY, { https: proxyUrl() }), secret(AUTHORITY, { "ca.crt": other })];
    await apply(cast().scene, secrets, soon());
  });
  afterAll(async () => {
    const { scene } = cast();
    await upgradeSallyport(scene, {}, soon());
    await kubectl(scene, ["delete", "secret", "-n", SYSTEM, "--ignore-not-found", PROXY, AUTHORITY], soon());
    await squid?.close();
  });

  test("takes the right authority when its Secret gets it, in the same pod", async () => {
    await upgradeSallyport(cast().scene, values(), soon());
    await connected("False", "CertificateUntrusted");
    const before = await cast().pods("agent");
    const { authority } = cast().scene.vendor;
    await apply(cast().scene, [secret(AUTHORITY, { "ca.crt": authority })], soon());
    await connected("True", "Connected", 240_000);
    const after = await cast().pods("agent");
    expect(after.map(({ metadata }) => metadata.name)).toEqual(before.map(({ metadata }) => metadata.name));
    expect(after[0]?.status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0]);
    const { state } = await cast().look("get-pods", { namespace: SHOP });
    expect(state).toBe("SUCCEEDED");
    expect(await said()).not.toMatch(secretWords);
  });
});

const secretWords = new RegExp([PASSWORD, encodeURIComponent(PASSWORD)].join("|"));

function proxyUrl(): string {
  return `http://${USER}:${encodeURIComponent(PASSWORD)}@${host()}:${squid.port}`;
}

function values(): object {
  return {
    proxy: { existingSecret: PROXY },
    trustedCA: { configMap: "", secret: AUTHORITY },
    networkPolicy: { platform: { cidrs: [] }, proxy: { cidrs: [`${host()}/32`], ports: [squid.port] } },
    agent: { extraEnv: [{ name: "SALLYPORT_HEARTBEAT_INTERVAL", value: "1s" }] },
  };
}

function secret(name: string, stringData: Readonly<Record<string, string>>) {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: SYSTEM }, stringData };
}

/** The whole log of the agent's pod. */
async function said(): Promise<string> {
  const [pod] = await cast().pods("agent");
  return kubectl(cast().scene, ["logs", "-n", SYSTEM, pod?.metadata.name ?? "", "--tail=-1"], soon());
}

/**
 * Waits for this status and reason of the condition.
 *
 * @param limitMs a changed Secret takes the kubelet up to a minute and a half, and the agent's next try one more.
 */
async function connected(status: string, reason: string, limitMs = 60_000): Promise<void> {
  const key = { namespace: GRANTS, name: objectName(cast().scene.vendor.deploymentId) };
  const find = (managed: ManagedDeployment) =>
    managed.status?.conditions?.find((each) => each.type === "Connected" && each.status === status);
  await eventually(
    () => cast().kube.get<ManagedDeployment>(managedDeployments, key, soon()),
    (read) => find(read)?.reason === reason,
    limitMs,
  );
}
