import { randomUUID } from "node:crypto";
import { ApiError as PlatformError } from "../../src/api-client/api-error.ts";
import { sleep, systemClock } from "../../src/base/clock.ts";
import type { AccessRequest } from "../../src/contract/access-requests/access-requests.ts";
import { objectName } from "../../src/crds/group.ts";
import { type AccessGrant, accessGrants, FINAL_GRANT_STATES } from "../../src/crds/kinds/access-grant.ts";
import { ApiError as KubeError } from "../../src/kube/client/api-error.ts";
import { type KubeObject, type NewObject, resources } from "../../src/kube/objects/resource.ts";
import { workload } from "../world/installation.ts";
import { GRANTS, SHOP } from "../world/people.ts";
import { persist } from "./persist.ts";
import type { Chance } from "./random.ts";
import type { Witness } from "./witness.ts";
import type { World } from "./world.ts";

export type PlanLine = {
  readonly command: string;
  readonly summary: string;
  readonly params: Readonly<Record<string, string | number>>;
};

export type Answer = "approve" | "deny" | "revoke";

/**
 * One request from the engineer's call to its end. It has its own workload, so that each change of that workload is
 * this story's.
 */
export class Story {
  readonly workload: string;
  readonly lines: readonly PlanLine[];
  readonly answer: Answer;
  readonly minutes: number;
  /** Whether the approver closes a window that a stopped plan has left open; if not, it runs out. */
  readonly tidiesUp: boolean;
  readonly #pausesMs: { readonly decide: number; readonly revoke: number };
  requestId = "";
  denied = false;
  revoked = false;

  constructor(number: number, chance: Chance, maxMinutes: number) {
    this.workload = `w-${number}`;
    this.answer = chance.weighted<Answer>({ approve: 70, deny: 12, revoke: 18 });
    this.minutes = chance.between(1, maxMinutes);
    this.tidiesUp = maxMinutes === 1 || chance.isLucky(0.5);
    this.#pausesMs = { decide: chance.between(0, 1_200), revoke: chance.between(0, 1_500) };
    this.lines = planOf(this.workload, chance);
  }

  get name(): string {
    return objectName(this.requestId);
  }

  async play(world: World, witness: Witness, signal: AbortSignal): Promise<void> {
    for (const object of this.#objects()) await persist((each) => created(world, object, each), signal);
    const { id } = await this.#ask(world, signal);
    this.requestId = id;
    await persist((each) => this.#queue(world, each), signal);
    while (witness.grant(this.name) === undefined) await sleep(systemClock, 50, signal);
    await sleep(systemClock, this.#pausesMs.decide, signal);
    await this.#decide(world, witness, signal);
    if (this.answer === "revoke") {
      await sleep(systemClock, this.#pausesMs.revoke, signal);
      await this.#revoke(world, "changed our mind", signal);
    }
    await this.#untilOver(world, witness, signal);
  }

  /** The request as the platform shows it, over or not. */
  request(world: World, signal: AbortSignal): Promise<AccessRequest> {
    return persist((each) => world.engineer.accessRequests.get({ params: { id: this.requestId } }, each), signal);
  }

  isOverInCluster(witness: Witness): boolean {
    const state = witness.grant(this.name)?.status;
    const isFinal = FINAL_GRANT_STATES.some((final) => final === state?.state);
    const going = state?.commands?.some((line) => line.state === "Starting" || line.state === "Running") ?? false;
    const open = witness.invocations.some(
      ({ spec, status }) => spec.grantName === this.name && ["Pending", "Running", undefined].includes(status?.state),
    );
    return isFinal && !going && !open;
  }

  async #untilOver(world: World, witness: Witness, signal: AbortSignal): Promise<void> {
    for (;;) {
      const request = await this.request(world, signal);
      const ended = isOver(request);
      if (ended && this.isOverInCluster(witness)) return;
      if (ended && !this.revoked && this.answer !== "deny" && this.tidiesUp && this.#isLeftOpen(witness)) {
        await this.#revoke(world, "the plan is over", signal);
      }
      await sleep(systemClock, 400, signal);
    }
  }

  #isLeftOpen(witness: Witness): boolean {
    return witness.grant(this.name)?.status?.state === "Approved";
  }

  #ask(world: World, signal: AbortSignal): Promise<AccessRequest> {
    const idempotencyKey = randomUUID();
    const body = {
      deploymentId: world.deploymentId,
      remediationPlanId: this.workload,
      title: `Story of ${this.workload}`,
      commands: this.lines.map((line) => ({ ...line })),
      maxMinutes: 60,
    };
    return persist((each) => world.engineer.accessRequests.create({ body, idempotencyKey }, each), signal);
  }

  async #queue({ engineer }: World, signal: AbortSignal): Promise<void> {
    const params = { id: this.requestId };
    try {
      await engineer.accessRequests.queue({ params }, signal);
    } catch (error) {
      // The answer to an earlier try was lost.
      const done = error instanceof PlatformError && error.code === "INVALID_STATE_TRANSITION";
      if (!done || (await engineer.accessRequests.get({ params }, signal)).status === "pending-approval") throw error;
    }
  }

  async #decide(world: World, witness: Witness, signal: AbortSignal): Promise<void> {
    const planHash = witness.grant(this.name)?.spec.planHash;
    const isDestructive = this.lines.some(({ command }) => command.endsWith("delete-pod"));
    const yes = { approvedForMinutes: this.minutes, ...(isDestructive ? { approvedPlanHash: planHash } : {}) };
    const words = this.answer === "deny" ? { deniedReason: "not today" } : yes;
    await persist((each) => this.#say(world, words, each), signal);
    this.denied = this.answer === "deny";
  }

  async #revoke(world: World, revokedReason: string, signal: AbortSignal): Promise<void> {
    this.revoked = await persist((each) => this.#say(world, { revokedReason }, each), signal);
  }

  /** False: the grant was over before, and takes no decision any more. */
  async #say({ approver }: World, words: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<boolean> {
    const key = { namespace: GRANTS, name: this.name };
    try {
      await approver.patch(accessGrants, key, { type: "merge", body: { spec: words } }, {}, signal);
    } catch (error) {
      if (!(error instanceof KubeError && error.isInvalid)) throw error;
      // An earlier try may have decided already, and its answer was lost.
      const spec = (await approver.get<AccessGrant>(accessGrants, key, signal))?.spec ?? {};
      const isSaid = Object.keys(words).every((word) => word in spec);
      if (!isSaid && !error.message.includes("this grant has ended")) throw error;
      return isSaid;
    }
    return true;
  }

  #objects(): readonly Made[] {
    const container = { name: "app", image: "registry.example/app:1" };
    const pods = this.lines.flatMap(({ params: { pod } }) =>
      typeof pod !== "string"
        ? []
        : [
            {
              apiVersion: "v1",
              kind: "Pod",
              metadata: { name: pod, namespace: SHOP },
              spec: { containers: [container] },
            },
          ],
    );
    return [
      { resource: resources.deployments, object: workload(this.workload) },
      ...pods.map((object) => ({ resource: resources.pods, object })),
    ];
  }
}

interface Made {
  readonly resource: (typeof resources)["pods" | "deployments"];
  readonly object: NewObject<KubeObject>;
}

async function created({ admin }: World, { resource, object }: Made, signal: AbortSignal): Promise<void> {
  try {
    await admin.create(resource, object, signal);
  } catch (error) {
    if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
  }
}

function isOver({ status, execution }: AccessRequest): boolean {
  if (status === "rejected" || status === "expired") return true;
  return status === "customer-approved" && ["succeeded", "failed", "stopped"].includes(execution.state);
}

/** One to three lines, each with an effect that no other line has. */
function planOf(workload: string, chance: Chance): readonly PlanLine[] {
  const count = chance.between(1, 3);
  let restarts = 0;
  return Array.from({ length: count }, (_, index): PlanLine => {
    const kind = chance.weighted({ scale: 60, restart: restarts === 0 ? 20 : 0, delete: 20 });
    if (kind === "restart") {
      restarts += 1;
      const params = { namespace: SHOP, kind: "deployment", name: workload };
      return { command: "kubernetes/rollout-restart", summary: `Restart ${workload}`, params };
    }
    if (kind === "delete") {
      const pod = `${workload}-pod-${index}`;
      return { command: "kubernetes/delete-pod", summary: `Delete ${pod}`, params: { namespace: SHOP, pod } };
    }
    // Ranges that do not overlap: no two lines of a workload ask for the same number.
    const replicas = chance.between(2, 99) + 100 * index;
    const params = { namespace: SHOP, kind: "deployment", name: workload, replicas };
    return { command: "kubernetes/scale", summary: `Scale ${workload} to ${replicas}`, params };
  });
}
