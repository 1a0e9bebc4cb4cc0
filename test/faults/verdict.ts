import type { AccessRequest } from "../../src/contract/access-requests/access-requests.ts";
import type { Command } from "../../src/contract/operations/commands.ts";
import { GRANT_UID_LABEL, grantAccount, objectName } from "../../src/crds/group.ts";
import type { OperationInvocation } from "../../src/crds/kinds/operation-invocation.ts";
import { type KubeObject, resources } from "../../src/kube/objects/resource.ts";
import { GRANTS, SHOP } from "../world/people.ts";
import { type Change, changesIn } from "./audit.ts";
import { persist } from "./persist.ts";
import type { PlanLine, Story } from "./story.ts";
import type { Witness } from "./witness.ts";
import type { World } from "./world.ts";

/** How often each end was seen, by the invocation's state, or by what there was in its place. */
export type Tally = Record<string, number>;

export interface Verdict {
  readonly lines: Tally;
  readonly automatic: Tally;
  /** Broken promises, as sentences. */
  readonly broken: readonly string[];
  /** Results that came after the platform had stopped waiting; by the contract the platform's state stays. */
  readonly late: number;
}

/** The platform's state for a command, by the state of its invocation. */
const PLATFORM_WORD: Readonly<Record<string, string>> = {
  Succeeded: "SUCCEEDED",
  Failed: "FAILED",
  Held: "FAILED COMMAND_HELD",
  Unknown: "FAILED OUTCOME_UNKNOWN",
  Expired: "EXPIRED",
};

/** The grant's state for a claimed line, by the state of its invocation. A command that never started is no failure. */
const LINE_WORD: Readonly<Record<string, string>> = {
  Succeeded: "Succeeded",
  Failed: "Failed",
  Held: "NotStarted",
  Expired: "NotStarted",
  Unknown: "Unknown",
};

/** Compares both sides with each other and with the API server's audit log. To be called when everything has ended. */
export async function judge(
  world: World,
  witness: Witness,
  stories: readonly Story[],
  automatic: readonly string[],
  signal: AbortSignal,
): Promise<Verdict> {
  const examination = new Examination(world, witness, await changesIn(world.auditLog));
  for (const story of stories) await examination.examine(story, signal);
  for (const commandId of automatic) await examination.examineAutomatic(commandId, signal);
  examination.close(stories);
  return examination;
}

class Examination implements Verdict {
  readonly lines: Tally = {};
  readonly automatic: Tally = {};
  readonly broken: string[] = [];
  late = 0;
  readonly #world: World;
  readonly #witness: Witness;
  readonly #changes: Map<string, readonly Change[]>;
  readonly #explained = new Set<string>();

  constructor(world: World, witness: Witness, changes: readonly Change[]) {
    this.#world = world;
    this.#witness = witness;
    this.#changes = Map.groupBy(changes, ({ what }) => what);
  }

  async examine(story: Story, signal: AbortSignal): Promise<void> {
    const request = await story.request(this.#world, signal);
    const grant = this.#witness.grant(story.name);
    if (grant === undefined) return void this.broken.push(`${story.workload}: no grant`);
    let [least, most] = [0, 0];
    for (const [index, line] of story.lines.entries()) {
      const on = request.execution.commands[index];
      const invocation = on?.commandId ? this.#witness.invocation(objectName(on.commandId)) : undefined;
      const label = `${story.workload}[${index}] ${line.command}`;
      const end = await this.#lineEnd(label, request, index, invocation, signal);
      const times = this.#changesOf(line, label, grantAccount(grant.metadata.uid));
      const inGrant = grant.status?.commands?.find((each) => each.index === index)?.state;
      const isClosed = story.revoked || grant.status?.state === "Expired";
      if (!isClosed || !wasStoppedByTheGate(invocation)) this.#mustNotBeStopped(label, end, invocation);
      const claimed = inGrant !== undefined && !["Planned", "Skipped", "Held"].includes(inGrant);
      if (times > 1 || (end === "Succeeded" && times === 0))
        this.broken.push(`${label}: ${end}, and changed ${times} times`);
      if (times > 0 && !["Succeeded", "Failed", "Unknown"].includes(end))
        this.broken.push(`${label}: ${end}, and changed ${times} times`);
      if (claimed && inGrant !== LINE_WORD[end])
        this.broken.push(`${label}: the grant says ${inGrant}, the invocation ${end}`);
      if (!claimed && ["Succeeded", "Failed", "Unknown"].includes(end))
        this.broken.push(`${label}: ended ${end} on a line that the grant has as ${inGrant}`);
      const isPod = line.command.endsWith("delete-pod");
      if (isPod) await this.#checkPod(line, end, label, signal);
      else if (end === "Succeeded") [least, most] = [least + 1, most + 1];
      else if (end === "Unknown" || end === "Failed") [least, most] = [least + times, most + 1];
    }
    await this.#checkGeneration(story, least, most, signal);
    if (story.denied && grant.status?.state !== "Denied")
      this.broken.push(`${story.workload}: denied, and ${grant.status?.state}`);
  }

  async examineAutomatic(commandId: string, signal: AbortSignal): Promise<void> {
    const command = await this.#command(commandId, signal);
    const invocation = this.#witness.invocation(objectName(commandId));
    const end = invocation?.status?.state ?? "no invocation";
    this.automatic[end] = (this.automatic[end] ?? 0) + 1;
    this.#agree(`automatic ${commandId}`, command, end);
    this.#mustNotBeStopped(`automatic ${commandId}`, end, invocation);
  }

  close(stories: readonly Story[]): void {
    for (const [what, changes] of this.#changes) {
      if (!this.#explained.has(what)) this.broken.push(`nobody asked for: ${what} by ${changes[0]?.user}`);
    }
    const asked = new Set(stories.map(({ name }) => name));
    for (const { metadata } of this.#witness.grants) {
      if (!asked.has(metadata.name)) this.broken.push(`a grant that nobody asked for: ${metadata.name}`);
    }
  }

  /** When no person closed the gate, an end as Held or Failed is a defect. */
  #mustNotBeStopped(label: string, end: string, invocation: OperationInvocation | undefined): void {
    if (end === "Held" || end === "Failed") this.broken.push(`${label}: ${end}, ${JSON.stringify(invocation?.status)}`);
  }

  async #lineEnd(
    label: string,
    { execution }: AccessRequest,
    index: number,
    invocation: OperationInvocation | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const on = execution.commands[index];
    const end = invocation?.status?.state ?? (on?.commandId ? "no invocation" : "never sent");
    this.lines[end] = (this.lines[end] ?? 0) + 1;
    if (on?.commandId) this.#agree(label, await this.#command(on.commandId, signal), end);
    return end;
  }

  #agree(label: string, command: Command, end: string): void {
    const { state, error } = command;
    const code = error?.code ?? "";
    const word = end === "Failed" ? state : [state, code].join(" ").trim();
    if (word === PLATFORM_WORD[end]) return;
    // No invocation was made in the cluster: any end but success is correct.
    if (end === "no invocation" && state !== "SUCCEEDED") return;
    if (state === "EXPIRED" && command.deadline !== null) this.late += 1;
    else this.broken.push(`${label}: ${end} in the cluster, ${word} on the platform`);
  }

  /** How often the audit log has the change; each must be by the grant's own account. */
  #changesOf({ command, params }: PlanLine, label: string, account: string): number {
    const what = command.endsWith("scale")
      ? `scale ${params.name} ${params.replicas}`
      : command.endsWith("delete-pod")
        ? `delete ${params.pod}`
        : `restart ${params.name}`;
    this.#explained.add(what);
    const changes = this.#changes.get(what) ?? [];
    for (const { user } of changes) {
      if (user !== `system:serviceaccount:${GRANTS}:${account}`) this.broken.push(`${label}: ${what} by ${user}`);
    }
    return changes.length;
  }

  /**
   * Checks the object's own count of changes. It includes a change that a killed API server wrote to etcd but not to
   * its log.
   */
  async #checkGeneration({ workload }: Story, least: number, most: number, signal: AbortSignal): Promise<void> {
    const found = await this.#get(resources.deployments, workload, signal);
    const changes = (found?.metadata.generation ?? 0) - 1;
    if (changes < least || changes > most)
      this.broken.push(`${workload}: changed ${changes} times, and its lines explain ${least} to ${most}`);
  }

  async #checkPod({ params }: PlanLine, end: string, label: string, signal: AbortSignal): Promise<void> {
    const isThere = (await this.#get(resources.pods, String(params.pod), signal)) !== undefined;
    if (isThere && end === "Succeeded") this.broken.push(`${label}: Succeeded, and the pod is there`);
    if (!isThere && !["Succeeded", "Unknown", "Failed"].includes(end))
      this.broken.push(`${label}: ${end}, and the pod is gone`);
  }

  #get(resource: (typeof resources)["pods" | "deployments"], name: string, signal: AbortSignal) {
    return persist((each) => this.#world.admin.get<KubeObject>(resource, { namespace: SHOP, name }, each), signal);
  }

  #command(id: string, signal: AbortSignal): Promise<Command> {
    return persist((each) => this.#world.engineer.commands.get({ params: { id } }, each), signal);
  }
}

/** Held because its grant was over, or stopped before it had done anything when the grant ended. */
function wasStoppedByTheGate(invocation: OperationInvocation | undefined): boolean {
  const authorized = invocation?.status?.conditions?.find(({ type }) => type === "Authorized");
  const message = invocation?.status?.error?.message ?? "";
  return (
    authorized?.reason === "GrantClosed" ||
    /^stopped before anything was changed: (revoked|window closed)$/.test(message)
  );
}

/** Per-grant accounts and bindings that exist now. */
export async function accessLeft({ admin }: World, signal: AbortSignal): Promise<readonly string[]> {
  const left: string[] = [];
  for (const resource of [resources.serviceAccounts, resources.roleBindings]) {
    for await (const { kind, metadata } of admin.list<KubeObject>(resource, { labelSelector: GRANT_UID_LABEL }, signal))
      left.push(`${kind ?? resource.kind} ${metadata.namespace}/${metadata.name}`);
  }
  return left;
}
