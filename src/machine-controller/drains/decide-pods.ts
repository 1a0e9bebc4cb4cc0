import type { DrainBlocker } from "../../crds/kinds/machine-drain.ts";
import { isBornAfter } from "../../crds/retention.ts";
import { type Attempts, type BudgetGates, budgetKey } from "./attempts.ts";
import {
  graceSecondsOf,
  inOrder,
  nameOf,
  OWN_RANK,
  type OwnPods,
  rankOf,
  type Standing,
  standingOf,
  workloadOf,
} from "./pods.ts";
import type { DrainRules } from "./rules.ts";
import type { Budget, DrainPod } from "./shapes.ts";
import {
  budgetWords,
  CAME_BACK_WORDS,
  DAEMON_WORDS,
  localStorageWords,
  misconfiguredWords,
  terminatingWords,
  unmanagedWords,
} from "./words.ts";

/** Why one pod is still there. */
export interface BlockedPod {
  readonly reason: DrainBlocker;
  /** With its namespace, as the others. */
  readonly pod: string;
  readonly workload: string | undefined;
  readonly budget?: string;
  /** What was said, and what would help. */
  readonly message: string;
}

export type PodAct =
  | { readonly do: "evict"; readonly pod: DrainPod; readonly budget: Budget | undefined }
  | { readonly do: "delete"; readonly pod: DrainPod; readonly graceSeconds: number };

export interface PodFacts {
  readonly pods: readonly DrainPod[];
  readonly budgetsOf: (pod: DrainPod) => readonly Budget[];
  readonly rules: DrainRules;
  readonly attempts: Pick<Attempts, "of" | "tokens" | "nextTokenMs">;
  readonly gates: Pick<BudgetGates, "room" | "refusalOf" | "againMs">;
  readonly own: OwnPods;
  /** In them force deletes nothing: without them the cluster or this process would not go on. */
  readonly keptNamespaces: readonly string[];
  /** The drain asks for force. */
  readonly wantsForce: boolean;
  /** Force is asked for and allowed, and the deadline has passed. */
  readonly isForced: boolean;
  /** When the drain began. */
  readonly startedAt: string;
  /** The kubelet has been silent for so long that it will confirm no end. */
  readonly isNodeDead: boolean;
  readonly now: Date;
  /** Monotonic. */
  readonly nowMs: number;
}

export interface PodDecision {
  readonly acts: readonly PodAct[];
  /** Pods that must still leave. */
  readonly left: number;
  /** Of those, the ones that nothing but a change elsewhere lets go. */
  readonly blocked: readonly BlockedPod[];
  /** Ours, which go after all others and wait for these. */
  readonly waiting: number;
  /** Some of them are still to be asked for, and not only waited for. */
  readonly isAsking: boolean;
  /** They stay with the node. */
  readonly skipped: readonly BlockedPod[];
  /** Pods whose end no kubelet will confirm: not waited for. */
  readonly unconfirmed: number;
  /** Look again after so long, though nothing changes. */
  readonly againMs: number;
}

/** A forced deletion gives the containers this long at most, and never no time at all. */
const FORCED_GRACE_SECONDS = 30;
/** After a pod's grace the kubelet has this long to say that it ended. */
const CONFIRM_MS = 60_000;
/** An eviction that is put off so often in a row is no busy moment: its words are shown. */
const PUT_OFF = 3;
/** Between two evictions of pods of one workload that come back to the cordoned node: else it would be a loop of seconds. */
const CAME_BACK_MS = 60_000;
/** A budget that another drain has just asked has answered by then. */
const ANSWER_MS = 100;

/** What of the pods on a node is asked for now, and what holds the others. */
export function decidePods(facts: PodFacts): PodDecision {
  return new Round(facts).decide();
}

type Verdict =
  /** `blocked`: until the answer to one more try says otherwise. */
  | { readonly is: "act"; readonly act: PodAct; readonly blocked?: BlockedPod | undefined }
  | { readonly is: "wait"; readonly againMs: number }
  | { readonly is: "blocked"; readonly blocked: BlockedPod; readonly againMs: number };

class Round {
  readonly #facts: PodFacts;
  readonly #room = new Map<string, number>();
  readonly #blocked: BlockedPod[] = [];
  readonly #acts: PodAct[] = [];
  #againMs = Number.POSITIVE_INFINITY;
  #tokens: number;

  constructor(facts: PodFacts) {
    this.#facts = facts;
    this.#tokens = facts.attempts.tokens(facts.nowMs);
  }

  decide(): PodDecision {
    const { pods, own, wantsForce, rules, isNodeDead } = this.#facts;
    const view = { force: wantsForce && rules.allowForce, rules };
    const standing = new Map<DrainPod, Standing>(pods.map((pod) => [pod, standingOf(pod, view)]));
    const of = (...which: readonly Standing[]): readonly DrainPod[] =>
      pods.filter((pod) => which.includes(standing.get(pod) ?? "ended"));
    const terminating = of("terminating");
    const leaving = isNodeDead ? [] : terminating;
    const left = [...leaving, ...of("unmanaged-pod", "local-storage", "evictable")];
    // Ours wait until no other pod is left, and then for each other.
    const lowest = Math.min(...left.map((pod) => rankOf(pod, own)));
    const isOwnLeaving = leaving.some((pod) => rankOf(pod, own) >= OWN_RANK);
    for (const pod of leaving) this.#take(this.#leaving(pod));
    for (const pod of of("unmanaged-pod"))
      this.#take(blockedFor(pod, "unmanaged-pod", unmanagedWords(rules, wantsForce)));
    for (const pod of of("local-storage")) this.#take(blockedFor(pod, "local-storage", localStorageWords(rules)));
    let ownActs = isOwnLeaving ? 1 : 0;
    let waiting = 0;
    for (const pod of inOrder(of("evictable"), own)) {
      const rank = rankOf(pod, own);
      if (rank >= OWN_RANK && (rank > lowest || ownActs > 0)) {
        waiting += 1;
        continue;
      }
      const verdict = this.#evictable(pod, rank);
      if (rank >= OWN_RANK && verdict.is !== "blocked") ownActs += 1;
      this.#take(verdict);
    }
    return {
      acts: this.#acts,
      left: left.length,
      blocked: this.#blocked,
      waiting,
      isAsking: left.length > leaving.length,
      skipped: of("daemon").map((pod) => ({ ...about(pod), reason: "daemon", message: DAEMON_WORDS })),
      unconfirmed: isNodeDead ? terminating.length : 0,
      againMs: this.#againMs,
    };
  }

  #take(verdict: Verdict): void {
    if (verdict.is !== "wait" && verdict.blocked !== undefined) this.#blocked.push(verdict.blocked);
    if (verdict.is !== "act") {
      this.#againMs = Math.min(this.#againMs, verdict.againMs);
    } else if (this.#tokens > 0) {
      this.#tokens -= 1;
      this.#acts.push(verdict.act);
    } else {
      const { attempts, nowMs } = this.#facts;
      this.#againMs = Math.min(this.#againMs, attempts.nextTokenMs(nowMs));
    }
  }

  #leaving(pod: DrainPod): Verdict {
    const { now, isForced } = this.#facts;
    const { deletionTimestamp = "", deletionGracePeriodSeconds = 0 } = pod.metadata;
    if (isForced && deletionGracePeriodSeconds > FORCED_GRACE_SECONDS && this.#mayDelete(pod)) return this.#delete(pod);
    // The API server puts the grace into the timestamp.
    const lateMs = Date.parse(deletionTimestamp) + CONFIRM_MS - now.getTime();
    if (lateMs > 0) return { is: "wait", againMs: lateMs };
    return blockedFor(pod, "terminating", terminatingWords(pod));
  }

  #evictable(pod: DrainPod, rank: number): Verdict {
    const { attempts, budgetsOf, isForced, now, nowMs, startedAt } = this.#facts;
    if (isForced && rank < OWN_RANK && this.#mayDelete(pod)) return this.#delete(pod);
    const attempt = attempts.of(pod);
    const ageMs = now.getTime() - Date.parse(pod.metadata.creationTimestamp);
    if (attempt === undefined && isBornAfter(startedAt, pod.metadata.creationTimestamp) && ageMs < CAME_BACK_MS)
      return blockedFor(pod, "eviction-error", CAME_BACK_WORDS, CAME_BACK_MS - ageMs);
    const budgets = budgetsOf(pod);
    const [budget] = budgets;
    const againMs = attempt === undefined ? 0 : attempt.againMs - nowMs;
    const answer = attempt?.answer;
    switch (answer?.is) {
      case undefined:
        break;
      case "error":
        return this.#heldBy(pod, blockedFor(pod, "eviction-error", answer.message, againMs));
      case "misconfigured":
        if (budgets.length < 2) break;
        return this.#heldBy(pod, blockedFor(pod, "misconfigured-budget", misconfiguredWords(budgets), againMs));
      case "ending":
        return blockedFor(pod, "terminating", "its namespace is being deleted, and takes it along", againMs);
      case "budget":
        // A pod that is not ready may pass where its budget has no room.
        if (budget === undefined && againMs > 0)
          return blockedFor(pod, "pod-disruption-budget", answer.message, againMs);
        break;
      case "busy":
        // A webhook that moves the pod by itself says so again and again, such as that of virtual machines.
        if ((attempt?.tries ?? 0) >= PUT_OFF)
          return this.#heldBy(pod, blockedFor(pod, "eviction-error", `put off: ${answer.message}`, againMs));
        if (againMs > 0) return { is: "wait", againMs };
        break;
      case "accepted":
      case "gone":
      case "replaced":
        // Soon the cache shows what became of it.
        if (againMs > 0) return { is: "wait", againMs };
        break;
    }
    if (budget === undefined || budgets.length > 1) return this.#evict(pod, undefined);
    return this.#throughGate(pod, budget, againMs);
  }

  #throughGate(pod: DrainPod, budget: Budget, againMs: number): Verdict {
    const { gates, nowMs, isNodeDead } = this.#facts;
    const key = budgetKey(budget);
    const room = this.#room.get(key) ?? gates.room(budget, nowMs);
    const refusal = gates.refusalOf(budget);
    const message = budgetWords(budget, refusal, workloadOf(pod), isNodeDead);
    const blocked = { ...about(pod), reason: "pod-disruption-budget" as const, budget: key, message };
    this.#room.set(key, Math.max(room - 1, 0));
    if (room > 0) {
      const isTry = refusal !== undefined && budget.status.disruptionsAllowed <= 0;
      return { ...this.#evict(pod, budget), ...(isTry && { blocked }) };
    }
    if (!pod.status.conditions && againMs <= 0) return this.#evict(pod, undefined);
    const pauseMs = Math.max(gates.againMs(budget) - nowMs, ANSWER_MS);
    return refusal === undefined ? { is: "wait", againMs: pauseMs } : { is: "blocked", blocked, againMs: pauseMs };
  }

  /** Held until its time, then tried once more. */
  #heldBy(pod: DrainPod, held: Extract<Verdict, { readonly is: "blocked" }>): Verdict {
    return held.againMs > 0 ? held : { ...this.#evict(pod, undefined), blocked: held.blocked };
  }

  #evict(pod: DrainPod, budget: Budget | undefined): Extract<Verdict, { readonly is: "act" }> {
    return { is: "act", act: { do: "evict", pod, budget } };
  }

  #mayDelete(pod: DrainPod): boolean {
    return !this.#facts.keptNamespaces.includes(pod.metadata.namespace);
  }

  #delete(pod: DrainPod): Verdict {
    const { attempts, nowMs } = this.#facts;
    const attempt = attempts.of(pod);
    if (attempt?.by === "delete" && attempt.againMs > nowMs) {
      const againMs = attempt.againMs - nowMs;
      if (attempt.answer.is === "error") return blockedFor(pod, "eviction-error", attempt.answer.message, againMs);
      return { is: "wait", againMs };
    }
    const graceSeconds = Math.max(Math.min(graceSecondsOf(pod), FORCED_GRACE_SECONDS), 1);
    return { is: "act", act: { do: "delete", pod, graceSeconds } };
  }
}

function about(pod: DrainPod): Pick<BlockedPod, "pod" | "workload"> {
  return { pod: nameOf(pod), workload: workloadOf(pod) };
}

function blockedFor(
  pod: DrainPod,
  reason: DrainBlocker,
  message: string,
  againMs: number = Number.POSITIVE_INFINITY,
): Extract<Verdict, { readonly is: "blocked" }> {
  return { is: "blocked", blocked: { ...about(pod), reason, message }, againMs };
}
