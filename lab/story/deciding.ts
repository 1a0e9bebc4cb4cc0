import { type AccessGrant, accessGrants } from "../../src/crds/kinds/access-grant.ts";
import { StepFailed } from "./narrator.ts";
import { GRANTS, type Scene } from "./scene.ts";
import { until } from "./until.ts";

/** What a person may answer. */
export type Answer = "approved" | "denied";

/**
 * The only form of line that the story runs, split into its arguments. The platform's text is for a person and never
 * goes to a shell.
 */
const LINE =
  /^kubectl patch ((?:accessgrants|manageddeployments)\.sallyport\.dev|rout) ([a-z0-9-]+) -n ([a-z0-9-]+) --type=merge -p '(\{[^']*\})'$/;

export function argumentsOf(command: string): readonly string[] {
  const [, resource = "", name = "", namespace = "", patch = ""] = LINE.exec(command) ?? [];
  if (patch === "") throw new StepFailed(`The line is not the one that was expected: ${command}`);
  return ["patch", resource, name, "-n", namespace, "--type=merge", "-p", patch];
}

/** Shows the line; with `--approve`, also runs it as the approver. */
export async function customerDecides(
  scene: Scene,
  command: string,
  grant: AccessGrant,
  approveForThem: boolean,
  signal: AbortSignal,
): Promise<Answer> {
  const { approver, stamps } = scene.world.target;
  const line = stamps ? command : withName(command, approver.user);
  const args = argumentsOf(line);
  scene.narrator.blank();
  if (!stamps)
    scene.narrator.text("This Kubernetes cannot stamp names (1.36 can), so the line has the approver's own:");
  scene.narrator.text(
    approveForThem
      ? `The customer decides. ${approver.user} types (--approve does it with their credentials):`
      : `Now the customer decides. Type this in another terminal, as ${approver.user} (see above):`,
  );
  scene.narrator.command(line);
  return approveForThem ? typeIt(scene, args, signal) : waitForIt(scene, grant, signal);
}

/** The line with the name of the person who decides: without it the decision would be anonymous. */
export function withName(command: string, user: string): string {
  const patch = argumentsOf(command).at(-1) ?? "";
  const { spec } = JSON.parse(patch) as { readonly spec: object };
  return command.replace(`'${patch}'`, () => `'${JSON.stringify({ spec: { ...spec, decidedBy: user } })}'`);
}

function typeIt(scene: Scene, args: readonly string[], signal: AbortSignal): Promise<Answer> {
  return scene.narrator.step("approver", "approving", async () => {
    await typed(scene, args, signal);
    return { text: `${scene.world.target.approver.user} approves: the customer's door is open`, value: "approved" };
  });
}

/** Runs kubectl as the approver. */
export async function typed({ world }: Scene, args: readonly string[], signal: AbortSignal): Promise<void> {
  const { target, clock } = world;
  await until(
    clock,
    { what: "admission policy in force", everyMs: 250 },
    async () => {
      const { code, stderr } = await target.kubectl(args, { kubeconfig: target.approver.kubeconfig }, signal);
      if (code === 0) return true;
      // For up to 3 s after the installation the API server has not loaded the policies, and refuses all decisions.
      if (stderr.includes("ServiceUnavailable") || stderr.includes("not yet synced")) return undefined;
      throw new StepFailed(`kubectl says: ${stderr.trim()}`);
    },
    signal,
  );
}

function waitForIt({ world, narrator }: Scene, { metadata }: AccessGrant, signal: AbortSignal): Promise<Answer> {
  const { kube, clock } = world;
  return narrator.step("approver", "waiting for the customer's decision", async () => {
    const { spec } = await until(
      clock,
      { what: "decision", timeoutMs: Number.POSITIVE_INFINITY, everyMs: 200 },
      async () => {
        const grant = await kube.get<AccessGrant>(accessGrants, { name: metadata.name, namespace: GRANTS }, signal);
        if (grant === undefined) throw new StepFailed("The grant was deleted.");
        const { approvedForMinutes, deniedReason } = grant.spec;
        return approvedForMinutes === undefined && deniedReason === undefined ? undefined : grant;
      },
      signal,
    );
    const who = spec.decidedBy ?? "somebody";
    return spec.deniedReason === undefined
      ? {
          text: `${who} approves for ${spec.approvedForMinutes} minutes: the customer's door is open`,
          value: "approved",
        }
      : { text: `${who} denies: ${spec.deniedReason}`, value: "denied" };
  });
}
