import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kubectl } from "../../../lab/cluster/kubectl.ts";
import { findPrograms } from "../../../lab/cluster/programs.ts";
import { isRecord } from "../../../src/base/is-record.ts";
import { decoded } from "../../../src/cli/kernel/given/decoded.ts";
import { documentsIn } from "../../../src/cli/kernel/given/documents.ts";
import { jsonValuesIn } from "../../../src/cli/kernel/given/json-values.ts";

/** What a reader makes of one text. */
export interface Reading {
  readonly objects: readonly unknown[];
  readonly isRefused: boolean;
}

/** Put into each object by the line that makes kubectl read without a server, and taken away here. */
const LABEL = "read-by";

/** The program that fits the newest API server of the tests. */
export async function kubectlPath(signal: AbortSignal): Promise<string> {
  return (await findPrograms({}, signal)).kubectl;
}

/** What kubectl reads in these files, in the order of their paths. */
export async function kubectlReads(program: string, paths: readonly string[]): Promise<Reading> {
  const files = paths.flatMap((path) => ["-f", path]);
  const args = ["label", "--local", ...files, "-o", "json", `${LABEL}=kubectl`];
  const { code, stdout, stderr } = await kubectl(program, tmpdir(), args, { kubeconfig: "/dev/null" });
  const { values, end } = jsonValuesIn(stdout);
  if (stdout.slice(end).trim() !== "") throw new Error(`kubectl printed ${stdout.slice(end, end + 200)}`);
  if (code !== 0 && stderr === "") throw new Error(`kubectl ended with ${code}`);
  return { objects: values.map(({ value }) => unlabelled(value)), isRefused: code !== 0 };
}

/** The same of texts, by one call for all of them. Each text names its objects `NAME` or `NAME-…`. */
export async function kubectlReadsEach(
  program: string,
  texts: ReadonlyMap<string, string | Uint8Array>,
): Promise<ReadonlyMap<string, Reading>> {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-read-"));
  try {
    const paths = new Map([...texts.keys()].map((name) => [name, join(folder, `${name}.yaml`)]));
    for (const [name, text] of texts) await writeFile(paths.get(name) ?? "", text);
    const args = ["label", "--local", "-f", folder, "-o", "json", `${LABEL}=kubectl`];
    const { stdout, stderr } = await kubectl(program, folder, args, { kubeconfig: "/dev/null" });
    const found = Map.groupBy(jsonValuesIn(stdout).values, ({ value }) => /^[^-]+/.exec(nameOf(value))?.[0] ?? "");
    return new Map(
      [...texts.keys()].map((name) => {
        const objects = (found.get(name) ?? []).map(({ value }) => unlabelled(value));
        return [name, { objects, isRefused: stderr.includes(`${name}.yaml`) }];
      }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the command line reads in a text. */
export function sallyportReads(bytes: Uint8Array | string): Reading & { readonly faults: readonly string[] } {
  const text = decoded(typeof bytes === "string" ? Buffer.from(bytes) : bytes);
  const documents = [...documentsIn(text)];
  const faults = documents.flatMap(({ fault }) => (fault === undefined ? [] : [fault.message]));
  const objects = documents.flatMap(({ value, fault }) => (fault === undefined ? listed(value).map(unlabelled) : []));
  return { objects, isRefused: faults.length > 0, faults };
}

function listed(value: unknown): readonly unknown[] {
  if (!isRecord(value) || !Array.isArray(value.items)) return [value];
  const kind = String(value.kind).replace(/List$/, "");
  return value.items.map((item: unknown) => {
    return isRecord(item) && item.kind === undefined && kind !== ""
      ? { kind, apiVersion: value.apiVersion, ...item }
      : item;
  });
}

function nameOf(value: unknown): string {
  return isRecord(value) && isRecord(value.metadata) ? String(value.metadata.name) : "";
}

/** Without what the command of kubectl adds, and what it does not print. */
function unlabelled(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { labels, managedFields: _, ...metadata } = isRecord(value.metadata) ? value.metadata : {};
  const { [LABEL]: __, ...own } = isRecord(labels) ? labels : {};
  return { ...value, metadata: { ...metadata, ...(Object.keys(own).length > 0 && { labels: own }) } };
}
