import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Rollout } from "../../src/crds/kinds/rollout.ts";
import { GRANTS, SHOP } from "../world/people.ts";
import { eventually } from "../world/wait.ts";
import { soon, useCast } from "./cast.ts";
import { command } from "./command.ts";
import { CHART, helm, RELEASE, upgradeSallyport } from "./installation.ts";
import { apply, kubectl } from "./kubectl.ts";
import { reaches } from "./reach.ts";
import { appStack, FRONT, PORT, STORE, type Version, VISITORS } from "./releases/app.ts";
import { Asker } from "./releases/asker.ts";
import { Customer, Vendor } from "./releases/people.ts";
import { APPROVER, nodesOf } from "./scene.ts";

// Releases as they are used: the vendor's own program, the customer with the lines of docs/releases.md, real images in a
// namespace that takes restricted pods only and denies all traffic that no policy allows, and a client that never stops.

const cast = useCast();
/** Of the vendor: a deployment, and the channel that it follows. */
const APP = "three-waves";
/** A tag that each node has for the image of the scene, as a repaired one of the customer. */
const HOTFIX = "registry.example.com/hotfix:1";
/** Pulled by no test: the name leads nowhere. */
const NOWHERE = "registry.invalid/front:1";
/** A Deployment's own deadline, in seconds, where it is meant to pass. */
const SHORT = 8;
/** A policy of the customer. */
const WINDOWS = "e2e-windows";
/** Open for a minute every four years. */
const CLOSED = [{ schedule: "0 0 29 2 *", durationMinutes: 1, timeZone: "UTC" }];

let asker: Asker;
let customer: Customer;
let vendor: Vendor;
let app = "";

const admin = (...args: readonly string[]): Promise<string> => kubectl(cast().scene, args, soon());

/** Releases and promotes it, and returns the rollout that the customer sees of it. */
async function released(given: Version): Promise<{ readonly releaseId: string; readonly rollout: Rollout }> {
  const before = await customer.rollouts();
  const releaseId = await vendor.releases(given.version, appStack(cast().scene, given), APP);
  const rollout = await customer.next(app, before, (state) => !["", "Planning"].includes(state));
  expect(rollout.status?.state, JSON.stringify(rollout.status)).toBe("AwaitingApproval");
  return { releaseId, rollout };
}

const end = (rollout: Rollout): Promise<Rollout> =>
  customer.state(rollout, ({ status }) => status?.finishedAt !== undefined);

async function setPolicy(name: string, spec: object): Promise<void> {
  const policy = {
    apiVersion: "sallyport.dev/v1alpha1",
    kind: "OperationPolicy",
    metadata: { name, namespace: GRANTS },
  };
  await apply(cast().scene, [{ ...policy, spec }], soon());
}

/** Accounts and bindings of rollouts. */
const lent = (): Promise<string> =>
  admin("get", "serviceaccounts,rolebindings", "-A", "-l", "sallyport.dev/rollout-uid", "-o", "name");

const members = (id: string): Promise<string> => {
  const kinds = "deploy,sts,ds,job,cronjob,svc,cm,sa,pdb,hpa,ing,netpol,pvc,pods";
  return admin("get", kinds, "-A", "-l", `sallyport.dev/deployment-id=${id}`, "-o", "name");
};

beforeAll(async () => {
  const { scene } = cast();
  const on = ["--set", "releases.enabled=true", "--set", "releases.secrets=true"];
  const upgrade = ["upgrade", RELEASE, CHART, "--wait", "--timeout", "180s", ...on];
  const deny = { podSelector: {}, policyTypes: ["Ingress", "Egress"] };
  const policy = {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "deny", namespace: SHOP },
  };
  customer = new Customer(cast());
  [asker, vendor] = await Promise.all([
    Asker.stand(scene),
    Vendor.at(cast()),
    helm(scene, upgrade, {}, AbortSignal.timeout(250_000)),
    apply(scene, [{ ...policy, spec: deny }], soon()),
    tagOnNodes(),
  ]);
  app = await vendor.deploys(APP);
  await vendor.isAccepted(app, customer, SHOP);
}, 300_000);

afterAll(async () => {
  const { scene } = cast();
  await asker?.leave();
  await admin("delete", "networkpolicy", "deny", "-n", SHOP);
  await admin("delete", "operationpolicies", WINDOWS, "-n", GRANTS, "--ignore-not-found");
  await admin("delete", "rollouts,releasecontents", "--all", "-n", GRANTS);
  await upgradeSallyport(scene, {}, soon());
  // It stays when `releases.secrets` is switched off, as the page says.
  await admin("delete", "namespace", "sallyport-releases");
}, 300_000);

describe("the first release", () => {
  test("is shown, approved and followed with the lines of the page", async () => {
    const { releaseId, rollout } = await released({ version: "1.0.0", store: "1" });
    const watching = vendor.watches(releaseId);
    await watching.says(/three-waves .* pending .* APPROVAL_PENDING/);
    const table = await customer.types(customer.line("kubectl get rout -n", rollout));
    expect(table.split("\n")[0]).toMatch(
      /^NAME +DEPLOYMENT +ACTION +VERSION +STATE +WAVE +APPLIED +CREATES +CHANGES +DELETES +AGE/,
    );
    const created = `create Deployment.apps/${SHOP}/${FRONT}`;
    expect(await customer.types(customer.line("kubectl describe rout", rollout))).toContain(created);
    expect(await customer.types(customer.line("{range .status.plan.changes", rollout))).toContain(created);
    const diff = await customer.admin(customer.line("kubectl diff", rollout));
    expect([diff.code, diff.stdout], diff.stderr).toEqual([1, expect.stringMatching(/^\+kind: Deployment$/m)]);
    expect(rollout.status).toMatchObject({ waves: 3, plan: { change: 0, prune: 0 } });
    await customer.approves(rollout);
    await customer.waits(rollout);
    expect((await end(rollout)).spec.approvedBy).toBe(APPROVER);
    await vendor.sees(app, ({ status, currentReleaseId }) => status === "running" && currentReleaseId === releaseId);
    expect(await watching.ended).toBe(0);
    expect(watching.out).toMatch(/three-waves .* updated +running/);
  });

  test("serves where its own NetworkPolicies allow it, and only there", async () => {
    await asker.ask();
    await eventually(
      () => asker.heard(),
      ({ answers }) => answers.length > 0,
    );
    expect((await asker.heard()).answers).toEqual(["front 1.0.0 of store 1"]);
    expect(await reaches(cast().scene, [VISITORS, "asker"], `${STORE}.${SHOP}`, PORT)).toBe(false);
  });
});

describe("an update that does not come up goes back", () => {
  test.each([
    ["an image that is nowhere", { version: "1.1.0", store: "1", image: NOWHERE, deadlineSeconds: SHORT }, FRONT],
    ["a probe that fails", { version: "1.2.0", store: "2", readiness: "/broken", deadlineSeconds: SHORT }, STORE],
  ])("%s", async (_, version, culprit) => {
    const { releaseId, rollout } = await released(version);
    await customer.approves(rollout);
    const watching = vendor.watches(releaseId);
    expect((await end(rollout)).status?.state).toBe("RolledBack");
    const { error } = await vendor.sees(app, ({ status }) => status === "update-failed");
    expect(error).toMatchObject({ code: "ROLLED_BACK", message: expect.stringContaining(culprit) });
    expect(await watching.ended).toBe(8);
    expect(watching.out).toMatch(new RegExp(`three-waves .* failed +update-failed +ROLLED_BACK: .*${culprit}`));
  });
});

test("an update keeps what the customer has changed, and waits for a pause and a window", async () => {
  await admin("set", "image", `deployment/${FRONT}`, `${FRONT}=${HOTFIX}`, "-n", SHOP);
  await admin("scale", `deployment/${FRONT}`, "--replicas=3", "-n", SHOP);
  await admin("rollout", "status", `deployment/${FRONT}`, "-n", SHOP, "--timeout=60s");
  await setPolicy(WINDOWS, { releaseWindows: CLOSED });
  const { releaseId, rollout } = await released({ version: "1.3.0", store: "1" });
  const overrides = rollout.status?.plan?.overrides ?? [];
  expect(overrides.map(({ field, manager }) => [field.split(".").at(-1), manager])).toEqual(
    expect.arrayContaining([
      ["image", "kube_ctl-set"],
      ["replicas", "kube_ctl"],
    ]),
  );
  const isHeld = (reason: string) => (each: Rollout) =>
    each.status?.state === "Queued" && each.status.conditions?.some((one) => one.reason === reason) === true;
  await customer.types(customer.line("peak hours", rollout));
  await customer.approves(rollout);
  await customer.state(rollout, isHeld("Paused"));
  await customer.types(customer.line("# go on", rollout));
  await customer.state(rollout, isHeld("WindowClosed"));
  await admin("delete", "operationpolicies", WINDOWS, "-n", GRANTS);
  await customer.waits(rollout);
  await vendor.sees(app, ({ status, currentReleaseId }) => status === "running" && currentReleaseId === releaseId);
  const fields =
    "{.spec.replicas} {.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].env[0].value}";
  const seen = await admin("get", `deployment/${FRONT}`, "-n", SHOP, "-o", `jsonpath=${fields}`);
  expect(seen).toBe(`3 ${HOTFIX} front 1.3.0`);
});

test("the client saw no failed request, from the first release to the last", async () => {
  const { answers, asked, failures } = await eventually(
    () => asker.heard(),
    (heard) => heard.answers.at(-1) === "front 1.3.0 of store 1",
  );
  process.stderr.write(`  the client asked ${asked} times\n`);
  expect(failures).toEqual([]);
  expect(asked).toBeGreaterThan(100);
  expect(new Set(answers)).toEqual(new Set(["front 1.0.0 of store 1", "front 1.3.0 of store 1"]));
});

test("what is deleted is gone when the customer has approved it, and no account is left", async () => {
  await ends(app);
  await eventually(
    () => members(app),
    (names) => names === "",
    60_000,
  );
  await eventually(lent, (names) => names === "");
});

async function ends(deploymentId: string): Promise<void> {
  const before = await customer.rollouts();
  await vendor.run("deployments", "delete", deploymentId, "--action", "cleanup");
  const rollout = await customer.next(deploymentId, before, (state) => state === "AwaitingApproval");
  await customer.approves(rollout);
  await customer.waits(rollout);
  await vendor.sees(deploymentId, ({ status }) => status === "deleted");
}

async function tagOnNodes(): Promise<void> {
  const { docker, image } = cast().scene;
  const tag = ["ctr", "--namespace", "k8s.io", "images", "tag", "--force", `docker.io/${image.name}`, HOTFIX];
  await Promise.all(
    nodesOf(cast().scene).map((node) => command("docker", ["exec", node, ...tag], { env: docker }, soon())),
  );
}
