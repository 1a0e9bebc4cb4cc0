import type { MachineJoin, MachineJoinState } from "../../crds/kinds/machine-join.ts";
import { lineWithoutCommands } from "../../crds/printable.ts";
import { referenceTo } from "../../kube/events/event.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { CertificateKind, JoinMetrics } from "../kernel/join-metrics.ts";
import type { JoinEvents } from "./join-reconciler.ts";

/** Reasons of the events of joins: closed, because people alert on them. */
const EVENTS = {
  Waiting: { type: "Normal", action: "Join" },
  CertificateIssued: { type: "Normal", action: "Sign" },
  Joined: { type: "Normal", action: "Join" },
  Denied: { type: "Warning", action: "Join" },
} as const;

interface JoinPublisherOptions {
  readonly recorder: Pick<EventRecorder, "record">;
  readonly metrics: JoinMetrics;
}

/** Events and metrics of joins. */
export class JoinPublisher implements JoinEvents {
  readonly #options: JoinPublisherOptions;

  constructor(options: JoinPublisherOptions) {
    this.#options = options;
  }

  issued(kind: CertificateKind): void {
    this.#options.metrics.issued(kind);
  }

  became(join: MachineJoin): void {
    this.#count(join.status?.state);
    const { nodeName, machineId, facts } = join.spec;
    const refusal = join.status?.conditions?.find(({ status }) => status === "False");
    const notes: Partial<Record<MachineJoinState, readonly [keyof typeof EVENTS, string]>> = {
      Waiting: [
        "Waiting",
        `machine ${machineId} at ${facts.address ?? "an unknown address"} asks to be node ${nodeName}`,
      ],
      Issued: ["CertificateIssued", `a certificate of node ${nodeName} was signed for machine ${machineId}`],
      Joined: ["Joined", `machine ${machineId} is node ${nodeName}`],
      Denied: ["Denied", `machine ${machineId}: ${refusal?.reason ?? "denied"}`],
    };
    const told = notes[join.status?.state ?? "Waiting"];
    if (told !== undefined) this.#publish(join, ...told);
  }

  #count(state: MachineJoinState | undefined): void {
    const { metrics } = this.#options;
    if (state === "Issued") metrics.issued("first");
    if (state === "Joined") metrics.ended("joined");
    if (state === "Denied") metrics.ended("denied");
    if (state === "Expired") metrics.ended("expired");
  }

  #publish(join: MachineJoin, reason: keyof typeof EVENTS, note: string): void {
    const regarding = referenceTo(join);
    this.#options.recorder.record({ regarding, reason, ...EVENTS[reason], note: lineWithoutCommands(note, 512) });
  }
}
