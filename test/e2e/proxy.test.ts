import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CertificateAuthority } from "../../lab/cluster/certificates.ts";
import { sleep, systemClock } from "../../src/base/clock.ts";
import { isFull } from "../../src/base/testing/full.ts";
import { objectName } from "../../src/crds/group.ts";
import { type ManagedDeployment, managedDeployments } from "../../src/crds/kinds/managed-deployment.ts";
import type { Line } from "../integration/proxy/agent-process.ts";
import { Squid, squidProblem } from "../integration/proxy/squid.ts";
import { eventually } from "../integration/wait.ts";
import { soon, useCast } from "./cast.ts";
import { upgradeSallyport } from "./installation.ts";
import { apply, kubectl } from "./kubectl.ts";
import { GRANTS, SHOP, SYSTEM } from "./scene.ts";

// A real squid that requires a password stands between the agent's pod and the platform, whose certificate is of a
// private authority. The NetworkPolicy opens the way to squid and none to the platform.

const [USER, PASSWORD] = ["sallyport", "p@ss:word/7"] as const;
const GUESSED = "guessed-77";
const [PROXY, GUESSED_PROXY, AUTHORITY, OTHER_AUTHORITY] = [
  "egress-proxy",
  "egress-proxy-guessed",
  "egress-authority",
  "egress-other-authority",
] as const;

// test/integration/proxy has the same with processes of ours.
const problem = isFull ? squidProblem() : "of a full run";
if (isFull && problem !== undefined) console.warn(`test/e2e/proxy.test.ts is SKIPPED: ${problem}`);

const cast = useCast();
let squid: Squid;

const host = (): string => new URL(cast().scene.vendor.url).hostname;

describe.skipIf(problem !== undefined)("an agent whose only way out is a proxy with a password", () => {
  beforeAll(async () => {
    squid = await Squid.make(USER, PASSWORD, host());
    await squid.start();
    const { authority } = cast().scene.vendor;
    const other = new CertificateAuthority("Somebody Else").certificate;
    const secrets = [
      secret(PROXY, { https: proxyUrl(PASSWORD) }),
      secret(GUESSED_PROXY, { https: proxyUrl(GUESSED) }),
      secret(AUTHORITY, { "ca.crt": authority }),
      secret(OTHER_AUTHORITY, { "ca.crt": other }),
    ];
    await apply(cast().scene, secrets, soon());
  });
  afterAll(async () => {
    const { scene } = cast();
    await upgradeSallyport(scene, {}, soon());
    const names = [PROXY, GUESSED_PROXY, AUTHORITY, OTHER_AUTHORITY];
    await kubectl(scene, ["delete", "secret", "-n", SYSTEM, "--ignore-not-found", ...names], soon());
    await squid?.close();
  });

  test("reports, takes commands and brings results, all in tunnels of its user", async () => {
    await upgradeSallyport(cast().scene, values(PROXY, AUTHORITY), soon());
    await connected("True", "Connected");
    const beats = await cast().heartbeats();
    await eventually(
      () => cast().heartbeats(),
      (count) => count > beats + 2,
    );
    const { state } = await cast().look("get-pods", { namespace: SHOP });
    expect(state).toBe("SUCCEEDED");
    // squid logs a tunnel when it ends.
    await cast().setPlatform("shut");
    try {
      const platform = new URL(cast().scene.vendor.url).host;
      const tunnel = `TCP_TUNNEL/200 CONNECT ${platform} ${USER}`;
      const tunnels = await eventually(
        () => squid.log(),
        (lines) => lines.includes(tunnel),
      );
      expect(new Set(tunnels.filter((line) => line.includes(" CONNECT ")))).toEqual(new Set([tunnel]));
    } finally {
      await cast().setPlatform("open");
    }
    expect(await said()).not.toMatch(secretWords);
  });

  test.each([
    [
      "the wrong password",
      values.bind(undefined, GUESSED_PROXY, AUTHORITY),
      "ProxyRefused",
      /the proxy [\d.]+:\d+ does not accept the user and password .* proxy\.existingSecret/,
    ],
    [
      "the wrong authority",
      values.bind(undefined, PROXY, OTHER_AUTHORITY),
      "CertificateUntrusted",
      /issued by "Sallyport e2e".* trustedCA/,
    ],
  ] as const)("with %s says in one line and one condition what to mend", async (_, wrong, reason, words) => {
    await upgradeSallyport(cast().scene, wrong(), soon());
    const message = await connected("False", reason);
    expect(message).toMatch(words);
    // Time for a few tries of everything that waits.
    await sleep(systemClock, 5_000, soon());
    const text = await said();
    const loud = linesOf(text).filter(({ level }) => level === "warn" || level === "error");
    expect(loud.map((line) => line.reason)).toEqual([reason]);
    expect(loud[0]?.fix).toBe(message);
    expect(text + message).not.toMatch(secretWords);
    const [pod] = await cast().pods("agent");
    expect(pod?.status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0]);
  });

  test("takes the right authority when its Secret gets it, in the same pod", async () => {
    await upgradeSallyport(cast().scene, values(PROXY, OTHER_AUTHORITY), soon());
    await connected("False", "CertificateUntrusted");
    const before = await cast().pods("agent");
    const { authority } = cast().scene.vendor;
    await apply(cast().scene, [secret(OTHER_AUTHORITY, { "ca.crt": authority })], soon());
    await connected("True", "Connected", 240_000);
    const after = await cast().pods("agent");
    expect(after.map(({ metadata }) => metadata.name)).toEqual(before.map(({ metadata }) => metadata.name));
    expect(after[0]?.status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0]);
  });
});

const secretWords = new RegExp([PASSWORD, encodeURIComponent(PASSWORD), GUESSED].join("|"));

function proxyUrl(password: string): string {
  return `http://${USER}:${encodeURIComponent(password)}@${host()}:${squid.port}`;
}

function values(proxy: string, authority: string): object {
  return {
    proxy: { existingSecret: proxy },
    trustedCA: { configMap: "", secret: authority },
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

function linesOf(text: string): readonly Line[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
}

/**
 * Waits for this status and reason of the condition, and returns its message.
 *
 * @param limitMs a changed Secret takes the kubelet up to a minute and a half, and the agent's next try one more.
 */
async function connected(status: string, reason: string, limitMs = 60_000): Promise<string> {
  const key = { namespace: GRANTS, name: objectName(cast().scene.vendor.deploymentId) };
  const find = (managed: ManagedDeployment) =>
    managed.status?.conditions?.find((each) => each.type === "Connected" && each.status === status);
  const managed = await eventually(
    () => cast().kube.get<ManagedDeployment>(managedDeployments, key, soon()),
    (read) => find(read)?.reason === reason,
    limitMs,
  );
  return find(managed)?.message ?? "";
}
