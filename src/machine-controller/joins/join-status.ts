import type { MachineJoin, MachineJoinStatus } from "../../crds/kinds/machine-join.ts";
import { lineWithoutCommands } from "../../crds/printable.ts";
import { type Condition, timestamp, withCondition } from "../../kube/objects/conditions.ts";
import { type JoinStep, requestName } from "./decide-join.ts";

type Said = readonly [
  type: "Approved" | "Signed" | "NodeReady",
  status: Condition["status"],
  reason: string,
  message: string,
];

/** What a join says after this step; the same as before where the step says nothing new. */
export function joinStatus(
  join: MachineJoin,
  step: Exclude<JoinStep, { do: "nothing" }>,
  now: Date,
): MachineJoinStatus {
  switch (step.do) {
    case "wait":
      return next(join, { state: step.state, ...approvalLine(join, step) }, [waiting(step)], now);
    case "approve":
      return next(join, { state: "Approved" }, [approved(join)], now);
    case "deny": {
      const isPersons = step.reason === "DeniedByPerson";
      const who = isPersons || step.reason.startsWith("Signer") ? "" : "refused: ";
      const type = step.reason.startsWith("Signer") ? "Signed" : "Approved";
      return next(join, { state: "Denied" }, [[type, "False", step.reason, `${who}${step.message}`]], now);
    }
    case "expire": {
      const type = join.status?.state === "Issued" ? "NodeReady" : "Approved";
      return next(join, { state: "Expired" }, [[type, "False", step.reason, step.message]], now);
    }
    case "create-request":
    case "approve-request": {
      const csr = requestName(join);
      const message = `certificatesigningrequest/${csr} waits for the cluster's signer`;
      return next(join, { state: "Signing", csr }, [["Signed", "Unknown", "AwaitingSigner", message]], now);
    }
    case "issue": {
      const fields = { state: "Issued", certificate: step.certificate, notAfter: timestamp(step.notAfter) } as const;
      const issued: Said = [
        "Signed",
        "True",
        "Issued",
        `good until ${timestamp(step.notAfter)}; the kubelet renews it`,
      ];
      return next(
        join,
        fields,
        [issued, ["NodeReady", "Unknown", "AwaitingNode", "the machine starts its kubelet"]],
        now,
      );
    }
    case "joined": {
      const fields = { state: "Joined", nodeUid: step.nodeUid } as const;
      return next(join, fields, [["NodeReady", "True", "Joined", `node ${join.spec.nodeName} is there`]], now);
    }
  }
}

/** The line to paste, with the names of this object alone in it. */
function approvalLine(
  { metadata, spec }: MachineJoin,
  { state }: { readonly state: string },
): { approvalLine?: string } {
  if (state !== "Waiting" || spec.approved === true) return {};
  const object = `${metadata.name} -n ${metadata.namespace}`;
  return { approvalLine: `kubectl patch mjoin ${object} --type=merge -p '{"spec":{"approved":true}}'` };
}

function waiting({ state, reason, message }: Extract<JoinStep, { do: "wait" }>): Said {
  if (state === "Signing") return ["Signed", "Unknown", "AwaitingSigner", message];
  if (state === "Issued") return ["NodeReady", "Unknown", "AwaitingNode", message];
  return ["Approved", "Unknown", reason ?? "AwaitingApproval", message];
}

function approved({ spec }: MachineJoin): Said {
  if (spec.approved === true)
    return ["Approved", "True", "ApprovedByCustomer", `let in by ${spec.approvedBy ?? "a person"}`];
  return ["Approved", "True", "PolicyAutomatic", "the pool lets machines in by itself"];
}

function next(join: MachineJoin, fields: MachineJoinStatus, said: readonly Said[], now: Date): MachineJoinStatus {
  const observedGeneration = join.metadata.generation ?? 0;
  let conditions: readonly Condition[] = (join.status?.conditions ?? []) as readonly Condition[];
  for (const [type, status, reason, text] of said) {
    const message = lineWithoutCommands(text, 1_024);
    conditions = withCondition(conditions, { type, status, reason, message, observedGeneration }, now);
  }
  const { approvalLine: _old, ...kept } = join.status ?? {};
  return { ...kept, ...fields, observedGeneration, conditions: conditions.map((each) => ({ ...each })) };
}
