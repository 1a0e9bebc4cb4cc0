import type { Input, InputValues } from "../../../../contract/deployments/deployment.ts";
import type { EnvironmentVariable, UpdateOperation } from "../../../../contract/deployments/deployment-state.ts";
import { VALUES_BYTES } from "../../../../contract/wire/schema.ts";
import { json } from "../../../database/json.ts";
import type { DeploymentRow } from "../../../database/tables/deployments.ts";
import type { Call } from "../../../kernel/call/call.ts";
import { invalid, invalidTransition, PlatformError } from "../../../kernel/errors.ts";
import { bytesOf } from "../../../kernel/input/document-bounds.ts";
import { findRelease } from "../../releases/record/store.ts";
import { changeByRequest, targetColumns } from "../lifecycle/change.ts";
import { wish } from "../lifecycle/new-release.ts";
import { retarget } from "../lifecycle/target.ts";
import { getDeployment } from "../read/get.ts";
import type { VisibleDeployment } from "../read/store.ts";
import { changedNames, openVariables, refuseRepeats, sealVariables } from "../settings/environment.ts";
import {
  checkInputValues,
  inputsOf,
  missingInputs,
  openInputs,
  plainInputs,
  sealInputs,
  shownInput,
} from "../settings/inputs.ts";
import { asStored, checkPolicy } from "../settings/policy.ts";
import { setupOfToken } from "./group-setup.ts";

type Context = Pick<Call, "db" | "now" | "principal" | "emit" | "raise" | "hooks" | "config">;

export interface InputsView {
  readonly inputs: Input[];
  readonly values: Record<string, unknown>;
  readonly providedInputIds: string[];
}

/** The inputs of the desired release, or else of the current one. */
async function currentInputs({ db }: Pick<Call, "db">, row: DeploymentRow): Promise<readonly Input[]> {
  const id = row.desired_release_id ?? row.current_release_id;
  return inputsOf(id === null ? undefined : await findRelease(db, row.workspace_id, id), row.platform);
}

export async function readInputs(call: Context, id: string): Promise<InputsView> {
  const row = await getDeployment(call, id);
  return viewOf(await currentInputs(call, row), row.input_values);
}

function viewOf(inputs: readonly Input[], stored: Readonly<Record<string, unknown>>): InputsView {
  return { inputs: inputs.map(shownInput), values: plainInputs(stored), providedInputIds: Object.keys(stored).sort() };
}

/**
 * The deployment, if the caller may change it. A group token may not change what its policy would not let it create.
 */
async function settable(call: Context, id: string): Promise<VisibleDeployment> {
  const row = await getDeployment(call, id);
  const { principal } = call;
  if (principal.kind === "serviceAccount" && principal.scope.type === "deployment-group") {
    checkPolicy((await setupOfToken(call)).policy, asStored(row), "deployment");
  }
  return row;
}

export async function patchInputs(
  call: Context,
  id: string,
  body: { readonly inputValues?: InputValues; readonly clearInputIds?: readonly string[] },
): Promise<InputsView & { operation: UpdateOperation | null; changed: boolean }> {
  const row = await settable(call, id);
  const inputs = await currentInputs(call, row);
  const values = body.inputValues ?? {};
  const cleared = new Set(body.clearInputIds ?? []);
  // New inputs of a later release may still be missing, but a value that is set may not be removed.
  const needed = inputs.filter((input) => cleared.has(input.id));
  const issues = [...checkInputValues(inputs, values), ...missingInputs(needed, row.platform, Object.keys(values))];
  if (issues.length > 0) throw new PlatformError("INPUT_VALUES_INVALID", { context: { issues } });
  const { sealingKey } = call.config;
  const before = openInputs(row.input_values, sealingKey);
  const changedKeys = [
    ...Object.keys(values).filter((key) => JSON.stringify(before[key]) !== JSON.stringify(values[key])),
    ...[...cleared].filter((key) => key in before && !(key in values)),
  ].sort();
  const kept = Object.fromEntries(Object.entries(row.input_values).filter(([key]) => !cleared.has(key)));
  const stored = { ...kept, ...sealInputs(inputs, values, sealingKey) };
  // The schema bounds one change. This bounds the total, which the record keeps and the manager reads.
  if (bytesOf(stored) > STORED_INPUTS_BYTES) {
    throw invalid({
      path: "body.inputValues",
      message: `together with those set before: over ${STORED_INPUTS_BYTES} bytes`,
    });
  }
  const operation = await configure(call, row, changedKeys, { input_values: json(stored) });
  return { ...viewOf(inputs, stored), operation, changed: changedKeys.length > 0 };
}

/** Limit for all input values of a deployment. Sealed values count as stored, which is longer. */
const STORED_INPUTS_BYTES = 2 * VALUES_BYTES;

/** Replaces all variables. @throws VALIDATION_ERROR when a name occurs twice. */
export async function setEnvironmentVariables(
  call: Context,
  id: string,
  variables: readonly EnvironmentVariable[],
): Promise<void> {
  const row = await settable(call, id);
  refuseRepeats(variables, "body.variables");
  const { sealingKey } = call.config;
  const before = row.environment_variables;
  const was = before === null ? [] : openVariables(before, sealingKey).variables;
  const sealed = sealVariables(variables, sealingKey, call.now);
  await configure(call, row, changedNames(was, variables), { environment_variables: json(sealed) });
}

/** Stores a new configuration and requests its application. Does nothing when nothing changed. */
async function configure(
  call: Context,
  row: DeploymentRow,
  changedKeys: readonly string[],
  set: Parameters<typeof changeByRequest>[2],
): Promise<UpdateOperation | null> {
  const next = retarget(row, wish(call, { reason: "configuration", changedKeys }));
  if (next === undefined) throw invalidTransition(row.status, "update-pending", []);
  if (changedKeys.length === 0) return null;
  const fact = { type: "DeploymentEnvironmentUpdated" as const, data: { changedKeys }, withActor: true as const };
  await changeByRequest(call, row, { ...targetColumns(next), ...set }, fact);
  return next.operation;
}
