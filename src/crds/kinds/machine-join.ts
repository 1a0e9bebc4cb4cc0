import Type from "typebox";
import { Conditions, DateTime, Generation, Line, PlatformId, rules, Text, Words } from "../schema.ts";
import { type Kind, type ObjectOf, resourceOf } from "./kind.ts";
import { asAsked, STATUS_STAYS, saidOnce, stateGoesOn, writeOnce } from "./kind-rules.ts";

/** Denied, Expired and Removed are final. */
export const MACHINE_JOIN_STATES = [
  "Waiting",
  "Approved",
  "Signing",
  "Issued",
  "Joined",
  "Denied",
  "Expired",
  "Removed",
] as const;
export type MachineJoinState = (typeof MACHINE_JOIN_STATES)[number];

/** A node's name: one DNS label, as the pool's prefix begins it. */
const NodeName = Type.String({ minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" });
const MachineRef = Type.String({ minLength: 1, maxLength: 128, pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$" });
const fact = Type.Optional(Line(0, 128));
const ASKED = ["pool", "machineId", "nodeName", "publicKey", "request", "facts", "tokenId"];

const Spec = Type.Object(
  {
    // What the machine asked for: the join server writes it at create, and it never changes.
    pool: Type.String({ minLength: 1, maxLength: 50, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" }),
    machineId: MachineRef,
    nodeName: NodeName,
    publicKey: Type.String({
      maxLength: 64,
      pattern: "^[0-9a-f]{64}$",
      description: "SHA-256 of the machine's public key; the machine shows it when it asks.",
    }),
    request: Type.String({ maxLength: 5464, pattern: "^[A-Za-z0-9+/]+={0,2}$", description: "PKCS#10, base64." }),
    facts: Type.Object({
      os: fact,
      arch: fact,
      kernel: fact,
      kubelet: fact,
      runtime: fact,
      address: Type.Optional(Type.String({ maxLength: 45, pattern: "^[0-9A-Fa-f:.]+$" })),
      zone: fact,
    }),
    tokenId: PlatformId,
    // The customer's word.
    approved: Type.Optional(Type.Boolean()),
    approvedBy: Type.Optional(Line(1, 512)),
    deniedReason: Type.Optional(Text(1, 1024)),
    deniedBy: Type.Optional(Line(1, 512)),
  },
  rules(
    asAsked(ASKED, [], "what the machine asked for is immutable; a changed wish needs a new key"),
    {
      rule: "oldSelf.hasValue() || !(has(self.approved) || has(self.approvedBy) || has(self.deniedReason) || has(self.deniedBy))",
      optionalOldSelf: true,
      message: "a machine cannot be created already approved or denied",
    },
    saidOnce(["approved", "approvedBy"], "an approval is final; deniedReason ends it until its machine has joined"),
    saidOnce(["deniedReason", "deniedBy"], "a denial is final"),
    {
      rule: "!has(self.approved) || self.approved",
      message: "approved is true or left out; to deny, write deniedReason",
    },
    { rule: "!has(self.approvedBy) || has(self.approved)", message: "approvedBy may only accompany approved" },
    { rule: "!has(self.deniedBy) || has(self.deniedReason)", message: "deniedBy may only accompany deniedReason" },
  ),
);

/** Where each state may lead. */
const NEXT: Readonly<Record<MachineJoinState, readonly MachineJoinState[]>> = {
  Waiting: ["Waiting", "Approved", "Denied", "Expired"],
  Approved: ["Approved", "Signing", "Denied", "Expired"],
  Signing: ["Signing", "Issued", "Denied"],
  Issued: ["Issued", "Joined", "Expired", "Removed"],
  Joined: ["Joined", "Removed"],
  Denied: ["Denied"],
  Expired: ["Expired"],
  Removed: ["Removed"],
};

const Status = Type.Object(
  {
    state: Type.Optional(Words(MACHINE_JOIN_STATES)),
    csr: Type.Optional(Type.String({ maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" })),
    certificate: Type.Optional(
      Type.String({ maxLength: 16_384, description: "The node's first certificate, PEM. It holds no secret." }),
    ),
    notAfter: Type.Optional(DateTime),
    nodeUid: Type.Optional(Type.String({ maxLength: 64 })),
    approvalLine: Type.Optional(
      Type.String({
        maxLength: 256,
        pattern: `^kubectl patch mjoin [-a-z0-9]+ -n [-a-z0-9]+ --type=merge -p '[{]"spec":[{]"approved":true[}][}]'$`,
        description: "While it waits for a person: the kubectl line that lets it in.",
      }),
    ),
    observedGeneration: Type.Optional(Generation),
    conditions: Type.Optional(Conditions),
  },
  rules(
    stateGoesOn(
      NEXT,
      "status.state only goes on: Waiting, Approved, Signing, Issued, Joined, Removed; or Denied, Expired",
    ),
    ...writeOnce("csr", "certificate", "notAfter", "nodeUid"),
    {
      rule: "!has(self.state) || !(self.state in ['Issued', 'Joined']) || has(self.certificate)",
      message: "an issued join needs its certificate",
    },
  ),
);

/** A machine that wants to become a node: asked for by the join server, let in by a person, signed by the cluster. */
export const MACHINE_JOIN = {
  kind: "MachineJoin",
  plural: "machinejoins",
  shortName: "mjoin",
  description: "A machine that asks to become a node of this cluster.",
  spec: Spec,
  status: Status,
  selectableFields: [".spec.pool", ".spec.nodeName", ".status.state"],
  columns: [
    { name: "Machine", type: "string", jsonPath: ".spec.machineId" },
    { name: "Node", type: "string", jsonPath: ".spec.nodeName" },
    { name: "State", type: "string", jsonPath: ".status.state" },
    { name: "Address", type: "string", jsonPath: ".spec.facts.address" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Key", type: "string", jsonPath: ".spec.publicKey", priority: 1 },
    { name: "Pool", type: "string", jsonPath: ".spec.pool", priority: 1 },
    { name: "Approve", type: "string", jsonPath: ".status.approvalLine", priority: 1 },
    { name: "Approved-By", type: "string", jsonPath: ".spec.approvedBy", priority: 1 },
  ],
  rules: [
    {
      rule: "self.metadata.name == self.spec.pool + '-' + self.spec.publicKey.substring(0, 12)",
      message: "the name must be the pool, a dash and the first 12 digits of publicKey",
    },
    STATUS_STAYS,
    {
      rule:
        "!has(self.status) || !has(self.status.state) || !(self.status.state in ['Approved', 'Signing', 'Issued', 'Joined']) || " +
        "!has(self.spec.deniedReason) || (has(oldSelf.status) && has(oldSelf.status.state) && oldSelf.status.state == self.status.state)",
      message: "a join that was denied goes no further",
    },
    {
      rule:
        "!has(self.spec.deniedReason) || has(oldSelf.spec.deniedReason) || " +
        "!has(oldSelf.status) || !has(oldSelf.status.state) || oldSelf.status.state != 'Joined'",
      message: "a machine that has joined cannot be denied any more: drain and remove it",
    },
  ],
} as const satisfies Kind;

export type MachineJoin = ObjectOf<typeof MACHINE_JOIN>;
export type MachineJoinSpec = MachineJoin["spec"];
export type MachineJoinStatus = NonNullable<MachineJoin["status"]>;
export const machineJoins = resourceOf(MACHINE_JOIN);
