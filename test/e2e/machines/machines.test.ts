import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sleep, systemClock } from "../../../src/base/clock.ts";
import { fullOnly } from "../../../src/base/testing/full.ts";
import { readJoinString } from "../../../src/contract/machines/join-string.ts";
import { CORDONED_BY_ANNOTATION } from "../../../src/crds/group.ts";
import { type KubeObject, resources } from "../../../src/kube/objects/resource.ts";
import type { Typed } from "../../integration/debug/typed.ts";
import { GRANTS, SHOP } from "../../world/people.ts";
import { eventually } from "../../world/wait.ts";
import { isReady as isPodReady, type Pod, soon, useCast } from "../cast.ts";
import { Engineer } from "../debug-engineer.ts";
import { upgradeSallyport } from "../installation.ts";
import { ageCertificate, CURRENT } from "./aged-certificate.ts";
import { Box } from "./box.ts";
import { Customer, isReady, type Node } from "./customer.ts";
import { closeFleet, machineValues, openFleet } from "./fleet.ts";
import { timeKubeadm } from "./kubeadm.ts";
import { keepMill, openFor, removeMill, startMill } from "./mill.ts";

// A machine's whole life as people see it: the vendor's program, the line that it prints, the customer with the lines of
// docs/machines.md, the chart's join server and machine controller, and a box with nothing but containerd and a kubelet.

/** As the kubelet registers itself, with its own credential. */
const REGISTER = `curl -sS --cacert /etc/kubernetes/pki/ca.crt --cert ${CURRENT} --key ${CURRENT} \
  -H 'content-type: application/json' -d '{"apiVersion":"v1","kind":"Node","metadata":{"name":"NAME"}}' \
  "$(sed -n 's/.*server: "\\([^"]*\\)".*/\\1/p' /etc/kubernetes/kubelet.conf)/api/v1/nodes"`;
const REMOVED =
  "'sallyport-removed-machines' with binding 'sallyport-removed-machines' denied request: this machine was removed";

/** The platform knows a machine of an earlier run still. */
const NAME = `m-${randomBytes(3).toString("hex")}`;
const REASON = ["--reason", "its disk fails soon"];

/** An agent that starts within a minute after another one has to wait until the platform leases the deployment again. */
const TOLD_WITHIN_MS = 180_000;

const cast = useCast();
let engineer: Engineer;
let customer: Customer;
let box: Box;
let peer: Box | undefined;
let deployment = "";
/** Another node, for what leaves the machine. */
let worker = "";
let tokenEndsMs = 0;

const say = (line: string): boolean => process.stderr.write(`  ${line}\n`);
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const mill = (): Promise<readonly Pod[]> => cast().list<Pod>(resources.pods, SHOP, "app=mill");

beforeAll(async () => {
  const { scene } = cast();
  const signal = AbortSignal.timeout(280_000);
  deployment = scene.vendor.deploymentId;
  worker = `${scene.cluster.name}-worker`;
  customer = new Customer(cast());
  engineer = await Engineer.at(cast());
  [box, peer] = await Promise.all([
    Box.start(scene, NAME, signal),
    Box.start(scene, "peer", signal),
    upgradeSallyport(scene, machineValues(scene), signal).then(() => openFleet(scene, signal)),
  ]);
}, 300_000);

afterAll(async () => {
  const { scene } = cast();
  await removeMill(scene, worker, soon());
  await Promise.all([
    upgradeSallyport(scene, {}, soon()).then(() => closeFleet(scene, soon())),
    ...[box, peer].map((each) => each?.remove()),
  ]);
  await customer.admin("delete", "node", NAME, "--ignore-not-found");
}, 300_000);

/** Asks for a drain or a removal, and has the customer's approver paste the line that it prints. */
async function asked(...words: readonly string[]): Promise<Typed> {
  const cli = engineer.sallyport("machines", ...words, ...REASON, "--watch");
  const [, line = ""] = await cli.says(/(kubectl patch \S+ ar-\S+ .*'\{.*\}')/);
  await cast().approve(line);
  return cli;
}

test("a box with a join token becomes a node when the customer lets it in", async () => {
  const file = join(engineer.home, "join");
  const options = ["--out", file, "--expires", "1m", "--max-joins", "1"];
  const made = await eventually(
    () => engineer.run("machines", "token", "create", deployment, ...options),
    ({ code }) => code === 0,
    TOLD_WITHIN_MS,
  );
  const fields = readJoinString((await readFile(file, "utf8")).trim());
  tokenEndsMs = (fields?.exp ?? 0) * 1_000;
  expect(await customer.approver(`kubectl get mpool -n ${GRANTS} -o wide`)).toContain(fields?.pin);
  expect(made.out).toContain(fields?.pin);
  await box.bring(file, "join");

  const joining = box.begin(made.out.trim());
  const [, key = "none"] = await joining.says(/the machine's key: ([0-9a-f]{64})$/m);
  await joining.says(/kubectl patch machinejoin \S+ .*/);
  const name = `workers-${key.slice(0, 12)}`;
  const [look = "", approve = "", , wait = ""] = customer.joinLines(name);
  expect(await customer.approver(look)).toMatch(
    new RegExp(`^${name} +${NAME} +${NAME} +Waiting .* ${key} +workers `, "m"),
  );
  expect(await customer.node(NAME)).toBeUndefined();

  const readyAfter = customer.nodeReady(NAME);
  await customer.approver(approve);
  say(`approval → node Ready: ${seconds(await readyAfter)}`);
  expect(await joining.ended, `${joining.out}\n${joining.error}`).toBe(0);
  expect(joining.out).toContain(`the node ${NAME} is Ready`);
  expect((await box.tries("test -e ./join")).code).toBe(1);
  await customer.approver(wait);
});

fullOnly("kubeadm join on another box of its kind takes as long", async () => {
  if (peer === undefined) throw new Error("there is no peer");
  const tookMs = await timeKubeadm(cast().scene, customer, peer);
  peer = undefined;
  say(`kubeadm join → node Ready: ${seconds(tookMs)}`);
});

test("pods run on it, and logs and exec reach them", async () => {
  await startMill(cast().scene, soon());
  const pods = await mill();
  expect(pods.map(({ spec }) => spec.nodeName)).toEqual([NAME, NAME]);
  await works();
});

/** The API server reaches the kubelet of the machine, and that its containers; after a restart not at once. */
async function works(): Promise<void> {
  const [pod = ""] = (await mill()).filter(({ spec }) => spec.nodeName === NAME).map(({ metadata }) => metadata.name);
  const logs = async () => (await customer.tries("logs", "-n", SHOP, pod)).stdout;
  await eventually(logs, (text) => /^sack 1$/m.test(text));
  const exec = async () => (await customer.tries("exec", "-n", SHOP, pod, "--", "/app/node", "-p", "6 * 7")).stdout;
  await eventually(exec, (text) => text === "42\n");
}

describe("a drain that is cancelled", () => {
  test("and that a budget held up has told both sides who is in the way; the machine takes pods again", async () => {
    const cli = await asked("drain", deployment, NAME, "--deadline", "1h");
    await cli.says(/^ {2}shop\/deployment\/mill \(2 pods\): pod-disruption-budget since \S+: .*pdb\/mill/m);
    const { metadata, status } = await customer.openDrain(NAME, (drain) => drain.status?.state === "Blocked");
    expect(status).toMatchObject({ cordonedByUs: true, left: "2/2" });
    expect(status?.blockers?.[0]).toMatchObject({ reason: "pod-disruption-budget", workload: "shop/deployment/mill" });
    const rows = await customer.approver(`kubectl get drain -n ${GRANTS}`);
    expect(rows).toMatch(new RegExp(`^${metadata.name} +${NAME} +Blocked +2/2 +pdb:2 +20\\S+Z`, "m"));
    expect((await customer.node(NAME))?.spec.unschedulable).toBe(true);

    expect(await engineer.run("machines", "cancel", deployment, NAME)).toMatchObject({ code: 0 });
    expect(await cli.ended, cli.error).toBe(8);
    await uncordoned();
    expect((await mill()).map(({ spec }) => spec.nodeName)).toEqual([NAME, NAME]);
  });

  test("of a machine that a person had cordoned leaves it cordoned", async () => {
    await customer.admin("cordon", NAME);
    const drain = { apiVersion: "sallyport.dev/v1alpha1", kind: "MachineDrain", metadata: { name: "by-hand" } };
    const object = JSON.stringify({ ...drain, spec: { nodeName: NAME } });
    await customer.approver(`kubectl create -n ${GRANTS} -f - <<<'${object}'`);
    const { status } = await customer.drain("by-hand", ({ status }) => status?.state === "Blocked");
    expect(status?.cordonedByUs).toBe(false);
    await customer.approver(`kubectl delete drain by-hand -n ${GRANTS}`);
    // The mark goes when the controller has seen the end.
    await eventually(
      () => customer.node(NAME),
      (node) => !isMarked(node),
    );
    expect((await customer.node(NAME))?.spec.unschedulable).toBe(true);
    await customer.admin("uncordon", NAME);
  });
});

test("it starts again after its token and its first day are over, and renews its certificate", async () => {
  await eventually(
    async () => Date.now(),
    (now) => now > tokenEndsMs,
  );
  await ageCertificate(cast().scene, box);
  const first = await box.run(`readlink ${CURRENT}`);
  const startedMs = Date.now();
  await box.restart();
  const heard = ({ status }: Node): number =>
    Math.max(0, ...(status?.conditions ?? []).map(({ lastHeartbeatTime }) => Date.parse(lastHeartbeatTime)));
  await eventually(
    () => customer.node(NAME),
    (node) => isReady(node) && heard(node) > startedMs,
  );
  say(`restart → node Ready: ${seconds(Date.now() - startedMs)}`);
  await works();
  const renewed = await eventually(
    () => box.run(`readlink ${CURRENT}`),
    (link) => link !== first,
  );
  expect(renewed.trim()).toMatch(/kubelet-client-\S+\.pem$/);
  await box.run(`openssl x509 -in ${CURRENT} -noout -checkend 7200`);
});

describe("a drain", () => {
  test("goes on when the budget has room, and never breaks it", async () => {
    const { scene } = cast();
    const cli = await asked("drain", deployment, NAME, "--deadline", "1h");
    await cli.says(/mill \(2 pods\): pod-disruption-budget since/);
    await openFor(scene, worker, soon());
    const most = watchUnready();
    await keepMill(scene, 1, soon());
    const raisedMs = performance.now();
    expect(await cli.ended, cli.error).toBe(0);
    say(`budget raised → drained: ${seconds(performance.now() - raisedMs)}`);
    expect(cli.error).toMatch(/over: pod-disruption-budget shop\/deployment\/mill/);
    expect(cli.error).toContain(`${NAME} is drained`);
    expect(await most()).toBe(1);
    expect((await mill()).map(({ spec }) => spec.nodeName)).toEqual([worker, worker]);
  });
});

const isMarked = ({ metadata }: KubeObject): boolean => metadata.annotations?.[CORDONED_BY_ANNOTATION] !== undefined;

async function uncordoned(): Promise<void> {
  await eventually(
    () => customer.node(NAME),
    (node) => node.spec.unschedulable !== true && !isMarked(node),
  );
}

/** @returns what ends the watch and says how many replicas at most were not available at a time. */
function watchUnready(): () => Promise<number> {
  const stop = new AbortController();
  let most = 0;
  const watching = (async () => {
    while (!stop.signal.aborted) {
      const ready = (await mill()).filter((pod) => pod.metadata.deletionTimestamp === undefined && isPodReady(pod));
      most = Math.max(most, 2 - ready.length);
      await sleep(systemClock, 50, soon());
    }
  })();
  return async () => {
    stop.abort();
    await watching;
    return most;
  };
}

test("it leaves for good: the node is gone, and the machine that comes back is refused", async () => {
  const cli = await asked("remove", deployment, NAME);
  expect(await cli.ended, cli.error).toBe(0);
  expect(cli.error).toContain(`${NAME} is gone`);
  expect(await customer.node(NAME)).toBeUndefined();
  await box.restart();
  // The kubelet says no more than that it has no node; so its own credential asks once more.
  const log = async () => (await box.tries("journalctl --unit kubelet --no-pager --output cat")).stdout;
  await eventually(
    async () => /Unable to register node/.test(await log()),
    (is) => is,
  );
  const said = await box.run(REGISTER.replaceAll("NAME", NAME));
  expect(JSON.parse(said)).toMatchObject({ code: 403, message: expect.stringContaining(REMOVED) });
  expect(await customer.node(NAME)).toBeUndefined();
  const { out } = await engineer.run("machines", "list", deployment);
  expect(out).not.toContain(NAME);
});
