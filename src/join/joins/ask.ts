import { isIP } from "node:net";
import type { MachineJoinSpec } from "../../crds/kinds/machine-join.ts";
import { holdsCommand } from "../../crds/without-commands.ts";
import { judgeNodeRequest } from "../../kube/objects/node-request.ts";
import { Refusal } from "../kernel/refusal.ts";

/** What a machine asks for, checked: its request is signed by its key and for this name alone. */
export type Ask = Pick<MachineJoinSpec, "machineId" | "nodeName" | "publicKey" | "request" | "facts">;

const MACHINE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const NODE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const BASE64 = /^[A-Za-z0-9+/]{4,5460}={0,2}$/;
const FACTS = ["os", "arch", "kernel", "kubelet", "runtime", "address", "zone"] as const;
const FACT = /^[ -~]{1,128}$/;

/** @throws Refusal */
export function readAsk(body: Buffer): Ask {
  const fields = objectOf(body);
  const machineId = text(fields, "machineId", MACHINE_ID);
  const nodeName = fields.nodeName === undefined ? machineId : text(fields, "nodeName", NODE_NAME);
  if (!NODE_NAME.test(nodeName)) throw bad("nodeName is not one DNS label");
  const request = text(fields, "request", BASE64);
  const judged = judgeNodeRequest(Buffer.from(request, "base64"), nodeName);
  if ("refused" in judged) throw bad(judged.refused);
  return { machineId, nodeName, request, publicKey: judged.request.publicKey, facts: factsOf(fields.facts) };
}

function objectOf(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Said below.
  }
  throw bad("the body is no JSON object");
}

function text(fields: Readonly<Record<string, unknown>>, name: string, form: RegExp): string {
  const value = fields[name];
  if (typeof value !== "string" || !form.test(value)) throw bad(`${name} is missing or has another form`);
  return value;
}

/**
 * Facts are a help for the person who decides: one that cannot be shown is left out, and so is one with a command in it,
 * which a person might paste.
 */
function factsOf(value: unknown): Ask["facts"] {
  if (typeof value !== "object" || value === null) return {};
  const given: Readonly<Record<string, unknown>> = { ...value };
  const isShown = (name: (typeof FACTS)[number], fact: unknown): boolean =>
    typeof fact === "string" && FACT.test(fact) && !holdsCommand(fact) && (name !== "address" || isIP(fact) !== 0);
  const shown = FACTS.filter((name) => isShown(name, given[name]));
  return Object.fromEntries(shown.map((name) => [name, given[name]]));
}

function bad(words: string): Refusal {
  return new Refusal(400, "BAD_REQUEST", "bad-request", words);
}
