import { isDeepStrictEqual } from "node:util";
import { counted } from "../../../base/counted.ts";
import { isRecord } from "../../../base/is-record.ts";
import { FriendlyError, UsageError } from "../../kernel/command.ts";
import { escaped } from "../../kernel/output.ts";
import type { Surroundings } from "../calling.ts";
import { helmHookOf, keptBy } from "./helm-hooks.ts";
import { documentsIn, type LocatedObject, objectsOf } from "./located-objects.ts";
import { Faults, manifestStack, nameOf, type ReleaseStack } from "./manifest-stack.ts";

/** Stands for the namespace that only the customer knows. A chart that builds a name with it cannot be released. */
const NAMESPACE = "namespace-of-the-deployment";

interface Chart {
  readonly chart: string;
  readonly values: readonly string[];
  readonly namespace: string | undefined;
  /** Of the release: a hook's Job runs again with each. */
  readonly version: string;
}

/** `--helm CHART`: rendered here by the engineer's own helm, so that the customer reads objects and runs no template. */
export async function stackFromChart(
  project: string,
  { chart, values, namespace = NAMESPACE, version }: Chart,
  { runTool, error }: Surroundings,
  signal: AbortSignal,
): Promise<ReleaseStack> {
  if (chart.startsWith("-")) throw new UsageError(`--helm is a chart, not ${chart}`);
  const name = /^[a-z]([-a-z0-9]{0,51}[a-z0-9])?$/.test(project) ? project : "release";
  const args = ["template", name, chart, "--namespace", namespace, "--include-crds"];
  const faults = new Faults();
  const render = async (): Promise<readonly LocatedObject[]> => {
    const answer = await runTool?.("helm", [...args, ...values.flatMap((file) => ["--values", file])], signal);
    if (answer === undefined) {
      throw new FriendlyError(
        "helm is not on the PATH: install it, or render elsewhere and give the result with --manifests FILE",
      );
    }
    if (answer.code !== 0) {
      throw new FriendlyError(`helm template ended with ${answer.code}\n${escaped(answer.stderr, "\n")}`);
    }
    return objectsOf(documentsIn("helm template", answer.stdout), (place, fault) => faults.add(place, [], fault));
  };
  error(`helm renders ${escaped(chart, "")}\n`);
  const all = await render();
  const notes: string[] = [];
  const objects = all.flatMap((one) => {
    const translated = translate(one, version, faults);
    if (translated === undefined) return [];
    if (translated.note !== undefined) notes.push(`${nameOf(one.object)}: ${translated.note}`);
    return translated.object === undefined ? [] : [{ object: translated.object, place: one.place }];
  });
  const crds = all.filter(({ object }) => object.kind === CRD).length;
  if (crds > 0) notes.push(`${counted(crds, CRD)}: left out, because only the customer installs them`);
  faults.end();
  // What a chart makes by chance, or reads from a cluster that is not there, is another thing at each release.
  const again = new Map((await render()).map(({ object }) => [keyOf(object), object]));
  for (const { object } of all) {
    if (isDeepStrictEqual(again.get(keyOf(object)), object)) continue;
    notes.push(
      `${nameOf(object)}: differs each time that helm renders it, so each release changes it; give the values`,
    );
  }
  if (notes.length > 0) error(`of the chart:\n${notes.map((note) => `  ${escaped(note, "")}\n`).join("")}`);
  return manifestStack(project, objects, faults);
}

const CRD = "CustomResourceDefinition";

function keyOf({ apiVersion, kind, metadata }: LocatedObject["object"]): string {
  const { namespace, name } = isRecord(metadata) ? metadata : {};
  return JSON.stringify([apiVersion, kind, namespace, name]);
}

interface Translated {
  /** Undefined: it is left out. */
  readonly object: LocatedObject["object"] | undefined;
  /** What became of helm's words for it; undefined: it has none. */
  readonly note: string | undefined;
}

/** Without the namespace that stands for the customer's, and with helm's words in the form of a release. */
function translate({ object, place }: LocatedObject, version: string, faults: Faults): Translated | undefined {
  if (object.kind === CRD) return undefined;
  const { metadata, ...rest } = object;
  if (!isRecord(metadata)) return { object, note: undefined };
  const { namespace, annotations, ...others } = metadata;
  const given = isRecord(annotations) ? annotations : {};
  const hook = helmHookOf(given, String(object.kind), version);
  if (hook.is === "test") return { object: undefined, note: "a test of helm's, left out" };
  if (hook.is === "refused") faults.add(place, [], `${nameOf(object)}: ${hook.why}`);
  const kept = keptBy(given, String(object.kind));
  if (kept?.isRefused === true) faults.add(place, [], `${nameOf(object)}: ${kept.words}`);
  const own = {
    ...others,
    ...(namespace !== undefined && namespace !== NAMESPACE && { namespace }),
    ...(isRecord(annotations) && {
      annotations: {
        ...Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith("helm.sh/hook"))),
        ...(hook.is === "hook" && hook.annotations),
      },
    }),
  };
  const cleaned = { ...rest, metadata: own };
  if (JSON.stringify(cleaned).includes(NAMESPACE)) {
    faults.add(place, [], "the chart writes its namespace into the object: render for one with --namespace NAME");
  }
  return { object: cleaned, note: hook.is === "hook" ? hook.note : kept?.words };
}
