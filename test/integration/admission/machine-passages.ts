import { CORDONED_BY_ANNOTATION, REMOVED_LABEL } from "../../../src/crds/group.ts";
import { GRANTS } from "../../world/people.ts";
import type { Passage, Stamp } from "../attacks.ts";
import {
  APPROVER,
  condition,
  csr,
  deleted,
  drain,
  evicts,
  JOIN,
  join,
  LEAVE,
  node,
  ours,
  status,
  UID,
  type Who,
  WISH,
} from "./machine-writes.ts";
import { create, patch } from "./writes.ts";

export const MACHINE_PASSAGES: readonly Passage<Who>[] = [
  {
    title: "the controller cordons",
    as: "machines",
    passes: ["sallyport-machines-nodes"],
    args: patch("node", "m-1", {
      spec: { unschedulable: true },
      metadata: { annotations: { [CORDONED_BY_ANNOTATION]: UID } },
    }),
  },
  {
    title: "and uncordons",
    as: "machines",
    args: patch("node", "m-cordoned", {
      spec: { unschedulable: null },
      metadata: { annotations: { [CORDONED_BY_ANNOTATION]: null } },
    }),
  },
  {
    title: "and deletes a node that it cordoned",
    as: "machines",
    args: ["delete", "node", "m-cordoned", "--dry-run=server"],
  },
  {
    title: "it asks for a node's certificate",
    as: "machines",
    passes: ["sallyport-machines-csr"],
    ...create(() => csr("sp-0123456789ab")),
  },
  {
    title: "it labels a removed machine",
    as: "machines",
    passes: ["sallyport-machines-words"],
    args: ours("mjoin", JOIN, { metadata: { labels: { [REMOVED_LABEL]: "true" } } }),
  },
  { title: "it deletes a join that a rule denied", as: "machines", args: deleted("e") },
  { title: "it reports a join", as: "machines", args: status("mjoin", JOIN, { state: "Waiting" }) },
  { title: "it reports a drain", as: "machines", args: status("drain", "wished", { state: "Waiting" }) },
  {
    title: "the join server passes a machine on",
    as: "join",
    passes: ["sallyport-join-server"],
    ...create(() => join("c".repeat(64), "m-2")),
  },
  { title: "and that one wants to leave", as: "join", ...create(() => drain("m-1-leave-0", { requested: LEAVE })) },
  {
    title: "an approver lets a machine in",
    as: "approver",
    passes: ["sallyport-join-words"],
    args: ours("mjoin", JOIN, { spec: { approved: true } }),
  },
  { title: "or refuses it", as: "approver", args: ours("mjoin", JOIN, { spec: { deniedReason: "not ours" } }) },
  { title: "or drains a node", as: "approver", ...create(() => drain("by-hand")) },
  {
    title: "the agent passes a wish on",
    as: "agent",
    passes: ["sallyport-drain-words"],
    ...create(() => drain("m-1-2", { requested: WISH })),
  },
  { title: "and cancels it", as: "agent", args: ["delete", "drain", "wished", "-n", GRANTS, "--dry-run=server"] },
  {
    title: "the operator approves it",
    as: "operator",
    passes: ["sallyport-no-commands-in-status"],
    args: status("drain", "wished", { conditions: [condition("Approved")] }),
  },
  {
    title: "the controller evicts a pod by its uid, and no other of the name",
    ...{ as: "machines", passes: ["sallyport-machines-evict"], ends: "the UID in the precondition" },
    args: ["create", "--raw", "/api/v1/namespaces/shop/pods/running/eviction?dryRun=All", "-f", "-"],
    stdin: () => evicts({ preconditions: { uid: UID } }),
  },
  {
    title: "a machine that was not removed registers its node",
    ...{ as: "living", passes: ["sallyport-removed-machines"] },
    ...create(() => node("m-new")),
  },
];

export const MACHINE_STAMPS: readonly Stamp<Who>[] = [
  {
    ...{ policy: "sallyport-stamp-join-approver", as: "approver", field: "approvedBy", person: APPROVER },
    args: ours("mjoin", JOIN, { spec: { approved: true } }),
  },
  {
    ...{ policy: "sallyport-stamp-join-denier", as: "approver", field: "deniedBy", person: APPROVER },
    args: ours("mjoin", JOIN, { spec: { deniedReason: "not ours" } }),
  },
];
