import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { useCluster } from "../../../lab/cluster/use-cluster.ts";
import { argumentsOf } from "../../../lab/story/deciding.ts";
import { buildPackage } from "../../../scripts/packages/build-package.ts";
import { PROGRAM } from "../../../scripts/packages/package-table.ts";
import { grantAccount } from "../../../src/crds/group.ts";
import { operationPolicies } from "../../../src/crds/kinds/operation-policy.ts";
import { rollouts } from "../../../src/crds/kinds/rollout.ts";
import { INSTALLED } from "../../world/installation.ts";
import { ours } from "../../world/objects.ts";
import { APPROVER, bound, GRANTS, SHOP } from "../../world/people.ts";
import { signal } from "../../world/wait.ts";
import { DEPLOYMENT_ID, OperatorWorld, type RunningOperator, scaleTo } from "./operator-world.ts";

// A real kubectl finds the plugin on the PATH, and the operator decides; the plugin has nothing but a kubeconfig.

const cluster = useCluster({ controllers: true, holds: INSTALLED });
let world: OperatorWorld;
let operator: RunningOperator;
let folder = "";
let alice = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-plugin-"));
  // The package as it is published: from the source each call would take a second more of CPU.
  const main = join(await buildPackage(PROGRAM, folder), "kubectl-sallyport.mjs");
  const plugin = join(folder, "kubectl-sallyport");
  await writeFile(plugin, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  await chmod(plugin, 0o755);
  world = await OperatorWorld.create(cluster());
  operator = world.start();
  alice = cluster().kubeconfigFor({ user: APPROVER });
});

afterAll(async () => {
  await operator?.stop();
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});

/** kubectl takes no flags before the name of a plugin. */
function sallyport(words: string, env: NodeJS.ProcessEnv = { KUBECONFIG: alice }) {
  const path = `${folder}${delimiter}${process.env.PATH}`;
  return new Promise<{ readonly code: unknown; readonly stdout: string; readonly stderr: string }>((done) => {
    const options = { env: { ...process.env, PATH: path, ...env } };
    execFile(cluster().kubectlPath, ["sallyport", ...words.split(" ")], options, (error, stdout, stderr) => {
      done({ code: error?.code ?? 0, stdout, stderr });
    });
  });
}

async function said(words: string): Promise<string> {
  const { code, stdout, stderr } = await sallyport(words);
  expect(code, stderr).toBe(0);
  return stdout;
}

async function asked(replicas: number) {
  const grant = await world.ask([scaleTo(replicas)], "mutating");
  await world.grant(grant, ({ status }) => status?.state === "Pending");
  return grant.metadata.name;
}

test("what waits is listed with the oldest first, and leaves the list with its decision", async () => {
  const [first, second] = [await asked(2), await asked(3)];
  const rows = JSON.parse(await said("requests -o json"));
  expect(rows.map(({ name }: { readonly name: string }) => name)).toEqual([first, second]);
  expect(rows[0]).toMatchObject({ kind: "AccessGrant", risk: "mutating", title: "a test" });
  expect(await said("requests")).toMatch(/^NAME +RISK +AGE +DECIDE-BEFORE +REQUESTED-BY +TITLE\n/);
  expect(await said(`deny ${first} --reason not-today`)).toBe(`${first} is denied by ${APPROVER}\n`);
  expect(await said(`deny ${second} --reason not-today`)).toBe(`${second} is denied by ${APPROVER}\n`);
  expect(await said("requests")).toBe(`Nothing waits for a decision in ${GRANTS}.\n`);
  const again = await sallyport(`deny ${first} --reason again`);
  expect(again).toMatchObject({ code: 6, stderr: expect.stringContaining("was denied already") });
});

test("a plan is shown as a sentence with what runs now, approved, and told from its request to its result", async () => {
  const name = await asked(5);
  // The approver's role reads no workloads: nothing is compared then, and nothing fails.
  const unseen = await said(`show ${name}`);
  expect(unseen).toContain("1. Sets a workload's replicas: deployment web in shop, replicas 5\n");
  expect(unseen).toContain("Line 1: you may not look at Deployment web in namespace shop");
  await cluster().apply([bound("alice-looks", SHOP, "view", APPROVER)]);
  expect(await said(`show ${name.replace("-", "_")}`)).toContain("replicas 1 → 5\n");
  expect((await sallyport(`approve ${name}`)).stderr).toContain("--yes");
  expect(await said(`approve ${name} --minutes 30 --yes`)).toContain(`${name} is approved`);
  const invocation = await world.invoke("kubernetes/scale", scaleTo(5).params, { grantName: name });
  await world.ended(invocation);
  const { metadata } = await world.grant(
    { metadata: { name, namespace: GRANTS } } as never,
    ({ status }) => status?.state === "Completed",
  );
  const told = JSON.parse(await said(`timeline ${name} -o json`));
  const lines = told.map(({ who, what }: { readonly who: string; readonly what: string }) => `${who} ${what}`);
  expect(lines[0]).toContain("asked for one command (mutating): a test");
  expect(lines).toContainEqual(expect.stringContaining(`${APPROVER} approved for 30 minutes`));
  expect(lines).toContainEqual(`${grantAccount(metadata.uid)} ended kubernetes/scale, Succeeded`);
  expect(lines.at(-1)).toContain("told the outcome, AllSucceeded");
});

test("the policy's cut, and an object that is not there, are said before the question, and what holds afterwards", async () => {
  const notify = "#told-once-the-policy-counts";
  const policy = ours("OperationPolicy", "short", { maxWindowMinutes: 20, notify: [notify] });
  await cluster().apply([policy]);
  const { command, params } = scaleTo(2);
  const grant = await world.ask([{ command, params: { ...params, name: "nothere" } }], "mutating");
  const { name } = grant.metadata;
  await world.grant(
    grant,
    ({ status }) => status?.conditions?.some(({ message }) => message.includes(notify)) === true,
  );
  const words = "for 20 minutes (30 were asked for; the policy allows 20)";
  const approved = await said(`approve ${name} --minutes 30 --yes`);
  expect(approved).toContain("Line 1: there is no Deployment nothere in namespace shop.\nSaying yes approves it");
  expect(approved).toContain(`Saying yes approves it ${words}.\n${name} is approved ${words}\n`);
  const { status } = await world.grant(grant, (now) => now.status?.state === "Approved");
  expect(status?.conditions?.find(({ type }) => type === "Approved")?.message).toBe(`approved by ${APPROVER} ${words}`);
  expect(await said(`timeline ${name}`)).toContain(`approved ${words}, until ${status?.approvedUntil}`);
  await world.admin.delete(operationPolicies, policy.metadata, {}, signal());
});

test("an approved request is revoked", async () => {
  const grant = await world.approved([scaleTo(7)]);
  const { name } = grant.metadata;
  expect((await sallyport(`revoke ${name}`)).stderr).toContain("--reason says why");
  expect(await said(`revoke ${name} --reason over`)).toBe(`${name} is revoked by ${APPROVER}\n`);
  await world.grant(grant, ({ status }) => status?.state === "Revoked");
  expect(await said(`timeline ${name}`)).toContain("revoked: over");
});

test("a policy is tried out, and names the rule that decides", async () => {
  expect(JSON.parse(await said("policy test kubernetes/scale -o json"))).toMatchObject({
    tier: "mutating",
    decision: "manual",
    means: "it waits for an approval",
    policies: [{ name: "default", decision: "manual", because: "defaults.mutating: manual" }],
  });
  expect(JSON.parse(await said("policy test kubernetes/get-pods -o json"))).toMatchObject({ decision: "auto" });
  expect(JSON.parse(await said("policy test acme/flush -o json"))).toMatchObject({
    tier: "destructive",
    decision: "manual",
  });
  expect(await sallyport("policy test scale")).toMatchObject({ code: 2 });
  expect(await said("policy test release/update")).not.toContain("window");
  // Of which one at least is a year away.
  const releaseWindows = ["0 0 1 1 *", "0 0 1 7 *"].map((schedule) => ({
    ...{ schedule, durationMinutes: 1, timeZone: "UTC" },
  }));
  const policy = (more: object) =>
    cluster().apply([
      {
        ...{ apiVersion: "sallyport.dev/v1alpha1", kind: "OperationPolicy" },
        ...{ metadata: { name: "freeze", namespace: GRANTS }, spec: more },
      },
    ]);
  await policy({ releaseWindows });
  expect(await said("policy test release/update")).toMatch(
    /^release\/update \(mutating\): manual, it waits for an approval\n {2}but no window for releases is open now: the next opens at 20\d\d-0[17]-01T00:00:00.000Z\n/,
  );
  expect(await said("policy test release/rollback")).not.toContain("window");
});

test("nothing that the person may not do is done, and the exit code says so", async () => {
  const name = await asked(2);
  const carol = { KUBECONFIG: cluster().kubeconfigFor({ user: "carol" }) };
  expect(await sallyport("requests", carol)).toMatchObject({ code: 4, stderr: expect.stringContaining("forbidden") });
  expect(await sallyport(`deny ${name} --reason no`, carol)).toMatchObject({ code: 4 });
  expect(await sallyport("show req-none")).toMatchObject({ code: 5 });
  expect(await sallyport("inside")).toMatchObject({ code: 0, stdout: `No debug session of ${GRANTS} is open.\n` });
  const none = await sallyport("requests", { KUBECONFIG: join(folder, "none") });
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no kubeconfig") });
  expect(await sallyport("requests --context none")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("none"),
  });
  expect(await sallyport("nothing")).toMatchObject({ code: 2, stderr: expect.stringMatching(/^kubectl sallyport: /) });
});

test("a release that waits is shown, and its decision is kubectl's", async () => {
  const now = Date.now();
  const spec = {
    rolloutId: "delete_1",
    deploymentId: DEPLOYMENT_ID,
    action: "delete",
    requestedAt: new Date(now).toISOString(),
    deadline: new Date(now + 3_600_000).toISOString(),
  };
  await world.admin.create(rollouts, ours("Rollout", "delete-1", spec), signal());
  expect(await said("show delete_1")).toContain(`delete-1: delete of ${DEPLOYMENT_ID}\n`);
  for (const act of ["approve delete-1 --yes", "deny delete-1 --reason no"]) {
    expect(await sallyport(act)).toMatchObject({ code: 5, stderr: expect.stringContaining("it is a release") });
  }
  const { stderr } = await sallyport("deny delete-1 --reason no");
  const line = stderr.trim().split("\n").at(-1)?.trim().replace("WHY", "no") ?? "";
  expect(await cluster().kubectl(argumentsOf(line))).toMatchObject({ code: 0 });
  const key = { namespace: GRANTS, name: "delete-1" };
  expect(await world.admin.get(rollouts, key, signal())).toMatchObject({ spec: { deniedReason: "no" } });
});

test("of a request and a release with one name neither is shown", async () => {
  const name = await asked(3);
  const now = Date.now();
  const spec = {
    rolloutId: name.replace("-", "_"),
    deploymentId: DEPLOYMENT_ID,
    action: "delete",
    requestedAt: new Date(now).toISOString(),
    deadline: new Date(now + 3_600_000).toISOString(),
  };
  await world.admin.create(rollouts, ours("Rollout", name, spec), signal());
  const told = expect.stringContaining(`a request and a release are both named ${name}`);
  expect(await sallyport(`show ${name}`)).toMatchObject({ code: 6, stdout: "", stderr: told });
  await world.admin.delete(rollouts, { namespace: GRANTS, name }, {}, signal());
});

test("a reason that is too long is a wrong call, before anything is asked", async () => {
  const told = await sallyport(`deny req-none --reason ${"x".repeat(1_025)}`);
  expect(told).toMatchObject({ code: 2, stderr: expect.stringContaining("1025 characters: 1024 at most") });
});

test("a kubeconfig whose user comes from a program is used, in the context that is named", async () => {
  const kubeconfig = parse(await readFile(alice, "utf8"));
  const [{ user }] = kubeconfig.users;
  const pem = (name: string): string => Buffer.from(user[name], "base64").toString();
  const apiVersion = "client.authentication.k8s.io/v1";
  const status = {
    clientCertificateData: pem("client-certificate-data"),
    clientKeyData: pem("client-key-data"),
  };
  const program = join(folder, "sign-in");
  await writeFile(`${program}.json`, JSON.stringify({ apiVersion, kind: "ExecCredential", status }));
  await writeFile(program, `#!/bin/sh\ncat "${program}.json"\n`);
  await chmod(program, 0o755);
  const exec = { apiVersion, command: program, interactiveMode: "Never" };
  const [context] = kubeconfig.contexts;
  const file = join(folder, "signed-in");
  const changed = {
    ...kubeconfig,
    users: [{ name: context.context.user, user: { exec } }],
    contexts: [{ ...context, name: "prod" }],
    "current-context": "another",
  };
  await writeFile(file, stringify(changed));
  expect(await sallyport("requests", { KUBECONFIG: file })).toMatchObject({ code: 1 });
  expect(await sallyport("requests --context prod", { KUBECONFIG: file })).toMatchObject({ code: 0 });
  // Several files are one: a context and its user in one, the cluster in another, and a file that is not there.
  const people = join(folder, "people");
  await writeFile(people, stringify({ ...changed, clusters: [], "current-context": "prod" }));
  const list = [join(folder, "none"), people, alice].join(delimiter);
  expect(await sallyport("requests", { KUBECONFIG: list })).toMatchObject({ code: 0 });
});
