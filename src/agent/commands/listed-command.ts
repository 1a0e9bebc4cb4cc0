import { Command, type CommandState } from "../../contract/operations/commands.ts";
import { misfit } from "../../contract/wire/misfit.ts";
import { paramsProblem } from "../platform-link/params-problem.ts";

/** A command that this agent is to run, as the platform lists it: checked, or unfit and why. */
export interface ListedCommand {
  readonly id: string;
  readonly state: CommandState;
  readonly deploymentId: string;
  readonly deadline: string | undefined;
  readonly wanted: { readonly fit: true; readonly run: Run } | { readonly fit: false; readonly problem: string };
}

export interface Run {
  readonly plugin: string;
  readonly operation: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly accessRequestId: string | undefined;
  readonly attempt: number;
}

/** The reserved target of operations (§16.2); commands for other targets are not this agent's. */
const TARGET = "operator";
const OPERATION = /^([a-z0-9]+(?:-[a-z0-9]+)*)\/([a-z0-9]+(?:-[a-z0-9]+)*)$/;
const MAX_WORD = 63;

/** One item of the platform's list; undefined when it is not for this agent, or has not even an id to answer with. */
export function readListedCommand(item: unknown): ListedCommand | undefined {
  if (misfit(Command, item, ["id", "deploymentId", "state", "deadline", "target"]) !== undefined) return undefined;
  const { id, deploymentId, state, deadline, target, attempt } = item as Command;
  if (target?.resourceId !== TARGET) return undefined;
  const base = { id, deploymentId, state, deadline: deadline ?? undefined };
  const problem = misfit(Command, item, ["name", "accessRequestId", "attempt"]);
  if (problem !== undefined) return { ...base, wanted: { fit: false, problem } };
  const { name, params, accessRequestId } = item as Command;
  const [, plugin = "", operation = ""] = OPERATION.exec(name) ?? [];
  if (plugin === "" || plugin.length > MAX_WORD || operation.length > MAX_WORD) {
    return { ...base, wanted: { fit: false, problem: "name: not plugin/operation" } };
  }
  const badParams = paramsProblem(params ?? {});
  if (badParams !== undefined) return { ...base, wanted: { fit: false, problem: badParams } };
  const run: Run = {
    plugin,
    operation,
    params: (params ?? {}) as Readonly<Record<string, unknown>>,
    accessRequestId: accessRequestId ?? undefined,
    attempt: attempt ?? 1,
  };
  return { ...base, wanted: { fit: true, run } };
}
