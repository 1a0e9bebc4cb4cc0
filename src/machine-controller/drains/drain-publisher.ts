import type { Clock } from "../../base/clock.ts";
import type { MachineDrain } from "../../crds/kinds/machine-drain.ts";
import { lineWithoutCommands } from "../../crds/printable.ts";
import { type EventReference, referenceTo } from "../../kube/events/event.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { DrainMetrics, DrainResult } from "../kernel/drain-metrics.ts";
import type { PodAct } from "./decide-pods.ts";
import type { DrainEvents } from "./drain-reconciler.ts";
import type { Answer } from "./judge.ts";
import { nameOf } from "./pods.ts";
import { isOver } from "./turn.ts";

/** Reasons of the events of drains: closed, because people alert on them. */
const EVENTS = {
  Cordoned: { type: "Normal", action: "Cordon" },
  Evicted: { type: "Normal", action: "Evict" },
  Deleted: { type: "Warning", action: "Evict" },
  Blocked: { type: "Warning", action: "Evict" },
  Drained: { type: "Normal", action: "Drain" },
  DrainFailed: { type: "Warning", action: "Drain" },
  Uncordoned: { type: "Normal", action: "Uncordon" },
} as const;

/** Drains whose cordon is still to be undone; the oldest is forgotten beyond it, which costs an event. */
const MAX_GONE = 256;

interface DrainPublisherOptions {
  readonly recorder: Pick<EventRecorder, "record">;
  readonly metrics: DrainMetrics;
  readonly clock: Clock;
}

/** Events and metrics of drains. */
export class DrainPublisher implements DrainEvents {
  readonly #options: DrainPublisherOptions;
  readonly #gone = new Map<string, EventReference>();

  constructor(options: DrainPublisherOptions) {
    this.#options = options;
  }

  cordoned(drain: MachineDrain): void {
    this.#publish(
      referenceTo(drain),
      "Cordoned",
      `node ${drain.spec.nodeName} takes no pods until this drain is deleted`,
    );
  }

  asked(drain: MachineDrain, act: PodAct, { is }: Answer): void {
    this.#options.metrics.asked(is);
    if (is !== "accepted") return;
    // The same event is counted: its note is the first pod's.
    if (act.do === "evict") this.#publish(referenceTo(drain), "Evicted", `pod ${nameOf(act.pod)}, and others after it`);
    else
      this.#publish(
        referenceTo(drain),
        "Deleted",
        `by force, after the deadline: pod ${nameOf(act.pod)}, and others after it`,
      );
  }

  became(drain: MachineDrain): void {
    const { state, conditions, summary, left, startedAt, counts } = drain.status ?? {};
    const { nodeName } = drain.spec;
    const said = (type: string): string | undefined => conditions?.find((each) => each.type === type)?.reason;
    if (state === "Blocked")
      this.#publish(referenceTo(drain), "Blocked", `${left} pods left on node ${nodeName}; ${summary}`);
    if (state === "Failed") {
      this.#publish(referenceTo(drain), "DrainFailed", `node ${nodeName}: ${said("Drained")}`);
      this.#options.metrics.ended("failed");
    }
    if (state !== "Drained") return;
    this.#publish(
      referenceTo(drain),
      "Drained",
      `node ${nodeName}: ${said("Drained")}, ${counts?.gone ?? 0} pods gone`,
    );
    const deadline = said("DeadlineExceeded");
    const result: DrainResult =
      deadline === "Forced" ? "forced" : (deadline ?? "InTime") === "InTime" ? "drained" : "deadline";
    this.#options.metrics.ended(result, this.#secondsSince(startedAt));
  }

  /** It was deleted: what it cordoned will be undone. */
  deleted(drain: MachineDrain): void {
    const { startedAt } = drain.status ?? {};
    if (!isOver(drain)) this.#options.metrics.ended("cancelled", this.#secondsSince(startedAt));
    if (startedAt === undefined) return;
    this.#gone.set(drain.metadata.uid, referenceTo(drain));
    const [oldest] = this.#gone.keys();
    if (this.#gone.size > MAX_GONE && oldest !== undefined) this.#gone.delete(oldest);
  }

  /** @param uid of the drain whose cordon it was */
  uncordoned(nodeName: string, uid: string): void {
    const reference = this.#gone.get(uid);
    this.#gone.delete(uid);
    if (reference !== undefined) this.#publish(reference, "Uncordoned", `node ${nodeName} takes pods again`);
  }

  #secondsSince(startedAt: string | undefined): number | undefined {
    if (startedAt === undefined) return undefined;
    return Math.max(this.#options.clock.wallNow().getTime() - Date.parse(startedAt), 0) / 1_000;
  }

  #publish(regarding: EventReference, reason: keyof typeof EVENTS, note: string): void {
    this.#options.recorder.record({ regarding, reason, ...EVENTS[reason], note: lineWithoutCommands(note, 512) });
  }
}
