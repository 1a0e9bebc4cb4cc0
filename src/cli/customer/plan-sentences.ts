import { OPERATIONS } from "../../crds/operations/catalog.ts";
import type { PlanLine } from "../../crds/plan.ts";

/** Parameters of a line as they are in the cluster now, by the parameter's name. Absent: nothing can be compared. */
export type Current = Readonly<Record<string, unknown>>;

/** Of lines that the operator does not run itself. */
const OTHER_SENTENCES: Readonly<Record<string, string>> = {
  "debug/logs": "Lets an engineer read logs of pods with kubectl",
  "debug/read": "Lets an engineer read objects with kubectl",
  "debug/exec": "Lets an engineer run commands in containers",
  "debug/port-forward": "Lets an engineer connect to ports of pods",
  "machines/drain": "Empties the node of a machine",
  "machines/remove": "Empties the node of a machine, and removes it from the cluster",
};

/** Parameters that name the object, and are said before the others. */
const OBJECT = ["kind", "pod", "name", "namespace"];

/**
 * What one line of a plan does, made from this side's own list of operations: the vendor's summary may say something else. Every
 * parameter is in it; one that would change what runs now is shown as `now → then`.
 */
export function sentenceOf({ command, params = {} }: PlanLine, current: Current = {}): string {
  const operation = OPERATIONS.find((known) => known.command === command);
  const summary = operation?.summary.replace(/\.$/, "") ?? OTHER_SENTENCES[command];
  const rest = Object.entries(params)
    .filter(([name]) => !OBJECT.includes(name))
    .map(([name, value]) => `${quoted(name)} ${change(current[name], value)}`);
  const words = [objectOf(params), ...rest].filter((word) => word !== "");
  const does = summary ?? `Runs ${command}, which this program does not know`;
  return words.length === 0 ? does : `${does}: ${words.join(", ")}`;
}

function objectOf(params: Readonly<Record<string, unknown>>): string {
  const { kind, name, pod, namespace } = params;
  const words = [kind, name].filter((word) => word !== undefined).map(quoted);
  if (pod !== undefined) words.push(`pod ${quoted(pod)}`);
  if (namespace !== undefined) words.push(words.length === 0 ? "namespace" : "in", quoted(namespace));
  return words.join(" ");
}

function change(now: unknown, then: unknown): string {
  return now === undefined || quoted(now) === quoted(then) ? quoted(then) : `${quoted(now)} → ${quoted(then)}`;
}

/** A text that could be taken for words of the sentence stands in quotes. */
export function quoted(value: unknown): string {
  return typeof value === "string" && /^[\w./:=-]+$/.test(value) ? value : (JSON.stringify(value) ?? "");
}
