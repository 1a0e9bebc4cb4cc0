import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { counted } from "../../../base/counted.ts";
import type { PluginMetadata } from "../../../plugins/metadata.ts";
import { type Command, FriendlyError, UsageError } from "../../kernel/command.ts";
import { escaped, type Format, formatOf, render, textOf } from "../../kernel/output.ts";
import type { Surroundings } from "../calling.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { type Flags, SESSION_FLAGS, type Typed, typedOf } from "../typed.ts";
import { bundleOf, readBundle } from "./bundle-file.ts";
import { chartValues, chartValuesText } from "./chart-values.ts";
import type { Loading } from "./module-loading.ts";
import { boundaryOf } from "./plugin-boundary.ts";
import { readPluginFolder } from "./plugin-folder.ts";
import { PLUGIN_SUMMARY, pluginHelp } from "./plugin-help.ts";
import { problemLine, problemLines } from "./problem.ts";
import { writeStarter } from "./starter.ts";

const { output, ...session } = SESSION_FLAGS;

interface Order extends Typed {
  readonly format: Format;
  readonly surroundings: Surroundings;
}

interface Verb {
  readonly takes: readonly string[];
  readonly flags: Flags;
  run(order: Order, signal: AbortSignal): Promise<number>;
}

const VERBS: Readonly<Record<string, Verb>> = {
  init: { takes: ["DIR"], flags: {}, run: init },
  check: { takes: ["DIR"], flags: {}, run: check },
  pack: { takes: ["DIR"], flags: { out: { type: "string" } }, run: pack },
  values: { takes: ["FILE.zip"], flags: {}, run: values },
  test: {
    takes: ["DIR", "OPERATION"],
    flags: {
      ...{ kubeconfig: { type: "string" }, context: { type: "string" }, apply: { type: "boolean" } },
      ...{ namespace: { type: "string", short: "n" }, params: { type: "string", multiple: true } },
    },
    run: test,
  },
  upload: { takes: ["FILE.zip"], flags: { ...session, project: { type: "string" } }, run: upload },
};

/** `plugin`: for the author of a plugin, from an empty folder to the platform. */
export function pluginCommand(surroundings: Surroundings): Command {
  return {
    name: "plugin",
    summary: PLUGIN_SUMMARY,
    help: async ([word = ""]) => pluginHelp(word),
    async run([word = "", ...args], signal) {
      const verb = Object.hasOwn(VERBS, word) ? VERBS[word] : undefined;
      if (verb === undefined) throw new UsageError(`usage: sallyport plugin ${Object.keys(VERBS).join("|")}`);
      const typed = typedOf(`plugin ${word}`, args, { output, ...verb.flags });
      if (typed.words.length !== verb.takes.length) {
        throw new UsageError(`usage: sallyport plugin ${word} ${verb.takes.join(" ")}; see its --help`);
      }
      return verb.run({ ...typed, format: formatOf(typed.text("output")), surroundings }, signal);
    },
  };
}

async function init({ words: [folder = ""], format, surroundings: { out } }: Order): Promise<number> {
  const files = await writeStarter(folder);
  const next = `sallyport plugin check ${folder}`;
  out(
    format === "table" ? textOf([`${folder}: ${files.join(", ")}`, `next: ${next}`]) : await render({ files }, format),
  );
  return EXIT_CODES.done.code;
}

async function check({ words, format, surroundings }: Order, signal: AbortSignal): Promise<number> {
  const [folder = ""] = words;
  const { out } = surroundings;
  const { metadata, problems } = await readPluginFolder(folder, loadingOf(surroundings), signal);
  if (format !== "table") out(await render({ ok: problems.length === 0, problems }, format));
  else if (metadata !== undefined && problems.length === 0) out(textOf([`${titleOf(metadata)}: no problem`]));
  else out(textOf([...problems.map(problemLine), counted(problems.length, "problem")]));
  return problems.length === 0 ? EXIT_CODES.done.code : EXIT_CODES.failed.code;
}

function titleOf({ name, version, operations }: PluginMetadata): string {
  return `${name} ${version}: ${counted(operations.length, "operation")}`;
}

function loadingOf({ clock, error }: Surroundings): Loading {
  return { clock, boundary: boundaryOf((line) => error(textOf([line]))) };
}

/** @throws FriendlyError with all problems, each with its place */
async function sound(folder: string, loading: Loading, signal: AbortSignal) {
  const { metadata, problems, ...read } = await readPluginFolder(folder, loading, signal);
  if (metadata !== undefined && problems.length === 0) return { metadata, ...read };
  throw new FriendlyError(`${folder} does not pass its check:${problemLines(problems)}`);
}

async function pack(typed: Order, signal: AbortSignal): Promise<number> {
  const [folder = ""] = typed.words;
  const { metadata, module } = await sound(folder, loadingOf(typed.surroundings), signal);
  const bytes = bundleOf(metadata, module);
  const { name, version } = metadata;
  const file = typed.text("out") ?? `${name}-${version}.zip`;
  await writeFile(file, bytes).catch((cause: unknown) => {
    throw new FriendlyError(`${file} cannot be written`, { cause });
  });
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  typed.surroundings.out(await render({ file, name, version, bytes: bytes.length, sha256 }, typed.format));
  return EXIT_CODES.done.code;
}

async function values({ words: [file = ""], format, surroundings: { out } }: Order): Promise<number> {
  const { metadata } = await readBundle(file);
  out(format === "json" ? await render(chartValues(metadata), format) : escaped(chartValuesText(metadata), "\n"));
  return EXIT_CODES.done.code;
}

async function test(typed: Order, signal: AbortSignal): Promise<number> {
  const [folder = "", name = ""] = typed.words;
  const { surroundings, format } = typed;
  const loading = loadingOf(surroundings);
  const { metadata, module, verifying } = await sound(folder, loading, signal);
  const operation = metadata.operations.find((each) => each.name === name);
  if (operation === undefined) {
    const names = metadata.operations.map((each) => each.name).join(", ");
    throw new UsageError(`${metadata.name} has no operation ${name}; it has ${names}`);
  }
  const { trialParams } = await import("./trial-params.ts");
  const params = trialParams(operation, typed.texts("params"), typed.text("namespace"));
  const { kubeconfigOf, runTrial } = await import("./trial.ts");
  const kubeconfig = await kubeconfigOf(typed.text("kubeconfig"), surroundings.env);
  if (kubeconfig === undefined) {
    surroundings.error(
      `NOT RUN: there is no kubeconfig. ${titleOf(metadata)} was checked, and nothing else. Name a cluster with --kubeconfig\n`,
    );
    return EXIT_CODES.notRun.code;
  }
  const apply = typed.has("apply");
  const tell = (line: string): void => surroundings.error(textOf([`${apply ? "" : "dry run: "}${line}`]));
  const verifies = verifying.has(name) && (apply || operation.tier === "read-only");
  const trial = { operation, module, params, apply, verifies, ...loading, tell };
  const done = await runTrial(trial, { kubeconfig, context: typed.text("context") }, signal);
  if (done.dropped.length > 0) {
    tell(`dropped, as plugin.yaml does not declare them in result: ${done.dropped.join(", ")}`);
  }
  if (verifying.has(name) && !verifies) tell("verify was left out: nothing was changed. --apply changes it");
  surroundings.out(await render(format === "table" ? done.result : { ...done, verified: verifies }, format));
  return EXIT_CODES.done.code;
}

async function upload(typed: Order, signal: AbortSignal): Promise<number> {
  const [file = ""] = typed.words;
  const flags = { profile: typed.text("profile"), workspace: typed.text("workspace") };
  const { uploadPlugin } = await import("./upload.ts");
  const answer = await uploadPlugin(
    file,
    typed.text("project"),
    flags,
    typed.surroundings,
    loadingOf(typed.surroundings),
    signal,
  );
  typed.surroundings.out(await render(answer, typed.format));
  return EXIT_CODES.done.code;
}
