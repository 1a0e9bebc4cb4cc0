import type { Clock } from "../../../base/clock.ts";
import { isRecord } from "../../../base/is-record.ts";
import type { DeploymentListItem } from "../../../contract/deployments/deployment.ts";
import type { DeployedResource, HeartbeatView, ResourceDetail } from "../../../contract/resources/resources.ts";
import { FriendlyError, UsageError } from "../../kernel/command.ts";
import { escaped, render, Table, tableOf } from "../../kernel/output.ts";
import { watch } from "../../kernel/watch.ts";
import { type VerbArguments, verbArguments } from "../area-command.ts";
import { COMMON, describeFlag, WATCH } from "../area-help.ts";
import { type CallRoute, type Surroundings, signedIn } from "../calling.ts";
import { EXIT_CODES, isNotFound } from "../exit-codes.ts";
import type { ValueSchema, Verb } from "../verbs.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Detail {
  readonly deployment: ResourceDetail;
  readonly heartbeat: HeartbeatView;
}

/** What was typed: `TYPE` only where three words were. */
interface Wanted {
  readonly type: string | undefined;
  readonly deployment: string;
  readonly resource: string;
}

export function getHelp({ flags, route }: Verb): string {
  return `usage: sallyport resources get [TYPE] DEPLOYMENT RESOURCE [-p PROJECT] [-o table|json|yaml]

${route.summary}
DEPLOYMENT and RESOURCE are ids or names; NAMESPACE/NAME is a RESOURCE too. Where a name means several resources they are listed.

${[...flags.map(describeFlag), WATCH, COMMON].join("\n")}
`;
}

/** `resources get`: by ids as the API has it, else by names. */
export async function getResource(
  verb: Verb,
  args: readonly string[],
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const given = verbArguments("resources get", verb.flags, args);
  const wanted = wantedOf(verb, given);
  return signedIn(surroundings, given, signal, async (call) => {
    const read = async (): Promise<string> => {
      const found = await lookUp(wanted, given, listedTypes(verb), call, signal);
      if (given.format !== "table") return render(found, given.format);
      return "heartbeat" in found ? sections(found, surroundings.clock) : tableOf(found);
    };
    if (given.watch) await watch(read, { ...surroundings, format: given.format }, signal);
    else surroundings.out(await read());
    return EXIT_CODES.done.code;
  });
}

/** @throws UsageError for another number of words, or a type that is none. */
function wantedOf(verb: Verb, { positionals }: VerbArguments): Wanted {
  const [resource = "", deployment = "", type] = positionals.toReversed();
  if (positionals.length < 2) throw new UsageError("DEPLOYMENT RESOURCE must be given");
  if (positionals.length > 3) throw new UsageError(`too many words: ${positionals.slice(3).join(" ")}`);
  const types = listedTypes(verb);
  if (type !== undefined && !types.includes(type)) {
    throw new UsageError(`TYPE is one of ${types.join(", ")}, not ${type}`);
  }
  return { type, deployment, resource };
}

/** The types that have a detail. */
function listedTypes({ route }: Verb): readonly unknown[] {
  return (route.params as ValueSchema | undefined)?.properties?.resourceType?.enum ?? [];
}

/** The detail; of a resource without one, its line of the list. */
async function lookUp(
  wanted: Wanted,
  given: VerbArguments,
  types: readonly unknown[],
  call: CallRoute,
  signal: AbortSignal,
): Promise<Detail | DeployedResource> {
  const project = given.texts.project?.[0];
  const query = project === undefined ? {} : { project };
  const detail = async (resourceType: string, deploymentId: string, resourceId: string): Promise<Detail> =>
    (await call(
      "resources",
      "get",
      { params: { resourceType, deploymentId, resourceId }, query, body: undefined },
      signal,
    )) as Detail;
  const { type, deployment, resource } = wanted;
  if (type !== undefined && isId(deployment)) {
    // What only the stack describes is in no list.
    const byId = await detail(type, deployment, resource).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (byId !== undefined) return byId;
  }
  const deploymentId = isId(deployment) ? deployment : await deploymentNamed(deployment, query, call, signal);
  const row = await rowNamed(wanted, { ...query, deploymentId }, call, signal);
  return types.includes(row.resourceType) ? detail(row.resourceType, deploymentId, row.objectId) : row;
}

function isId(deployment: string): boolean {
  return deployment.startsWith("dep_");
}

async function deploymentNamed(name: string, query: Fields, call: CallRoute, signal: AbortSignal): Promise<string> {
  const values = { params: {}, query: { ...query, name, limit: 100 }, body: undefined };
  const { items } = (await call("deployments", "list", values, signal)) as { items: readonly DeploymentListItem[] };
  const found = items.filter((each) => each.name === name);
  return only(found, "deployment", name, ({ id, deploymentGroup }) => `${id}  ${deploymentGroup?.name ?? ""}`).id;
}

async function rowNamed(
  { type, resource }: Wanted,
  filters: Fields,
  call: CallRoute,
  signal: AbortSignal,
): Promise<DeployedResource> {
  const query = { ...filters, ...(type !== undefined && { resourceType: type }), name: resource };
  const answer = await call("resources", "list", { params: {}, query, body: undefined }, signal);
  const { resources } = answer as { resources: readonly DeployedResource[] };
  const byId = resources.filter(({ resourceId, objectId }) => resourceId === resource || objectId === resource);
  const byName = resources.filter(
    ({ name, namespace }) => name === resource || (namespace !== null && `${namespace}/${name}` === resource),
  );
  return only(byId.length > 0 ? byId : byName, "resource", resource, (row) =>
    [row.resourceType, row.objectId, row.namespace ?? "-"].join("  "),
  );
}

/** @throws FriendlyError when there is none; UsageError with all of them when there are several. */
function only<T>(found: readonly T[], what: string, word: string, lineOf: (each: T) => string): T {
  const [first] = found;
  if (first === undefined) {
    const message = `there is no ${what} ${escaped(word, "")}: sallyport resources list shows what there is`;
    throw new FriendlyError(message, { exitCode: EXIT_CODES.notFound.code });
  }
  if (found.length === 1) return first;
  const lines = found.slice(0, MAX_NAMED).map((each) => `  ${escaped(lineOf(each), "")}`);
  throw new UsageError(`${word} is the name of ${found.length} ${what}s, type the id of one:\n${lines.join("\n")}`);
}

const MAX_NAMED = 20;

/** One record as people read it: what it is, and a table each of its pods, conditions, use, events and issues. */
function sections({ deployment, heartbeat }: Detail, clock: Clock): string {
  const data = heartbeat.status === "available" ? recordOf(heartbeat.heartbeat.data.data) : {};
  const status = recordOf(data.status);
  const { deploymentName, deploymentId, resourceType, resourceId, observedAt, desiredImage } = deployment;
  const about = {
    ...{ deployment: `${deploymentName} (${deploymentId})`, resource: resourceId, type: resourceType },
    ...(data.name !== undefined && { name: data.name }),
    ...(data.namespace !== undefined && { namespace: data.namespace }),
    health: heartbeat.status === "missing" ? "never reported" : healthOf(deployment),
    ...(observedAt !== undefined && {
      seen: seenOf({ lastObservedAt: observedAt, platformStale: deployment.platformStale }, clock),
    }),
    ready: deployment.desiredCount === null ? null : `${deployment.readyCount ?? "?"} of ${deployment.desiredCount}`,
    why: whyOf({ ...deployment, message: textOf(status.message) ?? deployment.message }),
    image: desiredImage,
  };
  const since = (time: unknown): string => (typeof time === "string" ? ageOf(time, clock) : "-");
  const parts = [
    section("PODS", recordsOf(data.pods).map(podLine)),
    section(
      "CONDITIONS",
      recordsOf(recordOf(data.workload).conditions).map(({ type, status, reason, message, lastTransitionTime }) => ({
        ...{ type, status, reason, since: since(lastTransitionTime), message },
      })),
    ),
    section(
      "USAGE",
      isRecord(data.cpu) || isRecord(data.memory)
        ? [{ cpu: metric(data.cpu), memory: metric(data.memory), measured: since(data.usageObservedAt) }]
        : [],
    ),
    section(
      "EVENTS",
      recordsOf(data.events).map(({ type, reason, count, lastTimestamp, eventTime, message }) => ({
        ...{ type, reason, count, seen: since(lastTimestamp ?? eventTime), message },
      })),
    ),
    section(
      "NOT READ",
      recordsOf(status.collectionIssues).map(({ reason, source, message }) => ({ reason, source, message })),
    ),
  ];
  return [tableOf(about), ...parts].filter((part) => part !== "").join("\n");
}

function section(title: string, rows: readonly Fields[]): string {
  return rows.length === 0 ? "" : `${title}\n${new Table(Object.keys(rows[0] ?? {})).lines(rows)}`;
}

function podLine({ name, ready, phase, restartCount, waitingReason, terminatedReason, nodeName, cpu, memory }: Fields) {
  const why = waitingReason ?? terminatedReason;
  return { name, ready, phase, restarts: restartCount, why, cpu: metric(cpu), memory: metric(memory), node: nodeName };
}

/** `250m` and `12 MiB`, as kubectl shows them; another unit as it was told. */
function metric(value: unknown): string {
  const { value: number, unit } = recordOf(value);
  if (typeof number !== "number") return "-";
  if (unit === "cores") return `${Math.round(number * 1_000)}m`;
  return unit === "bytes" ? `${Math.round(number / 1_048_576)} MiB` : `${number} ${textOf(unit) ?? ""}`;
}

function recordOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

function recordsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(recordOf) : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

type Condition = Pick<
  DeployedResource,
  "health" | "lifecycle" | "message" | "providerStale" | "platformStale" | "readyCount" | "desiredCount"
>;

export function healthOf({ health, lifecycle }: Condition): string {
  return lifecycle === "running" ? health : `${health} (${lifecycle})`;
}

export function seenOf(row: Pick<DeployedResource, "lastObservedAt" | "platformStale">, clock: Clock): string {
  return `${ageOf(row.lastObservedAt, clock)}${row.platformStale ? " (stale)" : ""}`;
}

/** Of a row whose reporter lost its right to read, or whose API server does not answer it. */
const NOT_READ = "It cannot be read in the cluster now.";

export function whyOf({ message, providerStale, readyCount, desiredCount }: Condition): string {
  const known = message ?? (desiredCount === null ? "" : `${readyCount ?? "?"} of ${desiredCount} ready`);
  return [...(providerStale ? [NOT_READ] : []), ...(known === "" ? [] : [known])].join(" Last known: ");
}

function ageOf(time: string, clock: Clock): string {
  const seconds = Math.max(0, Math.floor((clock.wallNow().getTime() - Date.parse(time)) / 1_000));
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7_200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3_600)}h`;
}
