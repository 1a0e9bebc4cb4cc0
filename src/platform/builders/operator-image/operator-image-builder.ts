import { createReadStream } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasModule } from "../../../plugins/metadata.ts";
import { builtLess } from "../../areas/packages/build.ts";
import { pluginsToBake } from "../../areas/packages/inputs.ts";
import { versionOf } from "../../areas/packages/store.ts";
import type { Db } from "../../database/db.ts";
import type { Budgets } from "../../kernel/budgets/budgets.ts";
import type { CallConfig } from "../../kernel/call/call-config.ts";
import { inTransaction } from "../../kernel/call/transaction.ts";
import { writeTar } from "../../kernel/tar.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import { IMAGES, packageKey, packagePath } from "../package-link.ts";
import type { Builder } from "../runner.ts";
import { archiveOf, dropOldArchives } from "./archives.ts";
import type { BaseImage } from "./base-image.ts";
import type { ImageTool } from "./image-tool.ts";
import { writePluginLayer } from "./plugin-layer.ts";
import { valuesOf } from "./plugin-values.ts";

/** One project's builds within an hour. Changes beyond it wait, and are then built together. */
const BUILDS_AN_HOUR = 20;
const WORK_FOLDER = "sallyport-image-";
/** A folder of a process that was killed. No build takes that long. */
const LEFT_MS = 3_600_000;

export interface ImageParts {
  readonly db: Db;
  readonly budgets: Budgets;
  readonly config: Pick<CallConfig, "baseImage">;
  readonly store: ObjectStore;
  /** Key made by `urlKey`. */
  readonly secret: Uint8Array;
  baseUrl(): string;
  readonly base: BaseImage;
  readonly tool: ImageTool;
  /** Undefined: images are not pushed. */
  readonly repository: string | undefined;
}

/** Adds a project's custom plugins to the shipped operator image. */
export function operatorImageBuilder(parts: ImageParts): Builder {
  const { store, secret, tool, repository } = parts;
  return {
    type: "operator-image",
    buildable: (now) => builtLess(BUILDS_AN_HOUR, now),
    async build(row, tell, signal) {
      const enabled = await act(parts, signal, (db) => pluginsToBake({ db, config: parts.config }, row));
      // A bundle without a module is for an operator of the vendor's own.
      const plugins = enabled.filter(({ metadata }) => hasModule(metadata));
      const values = valuesOf(plugins);
      return inWorkFolder(async (work) => {
        const [layer, layout, archive] = [join(work, "layer.tar"), join(work, "layout"), join(work, "image.tar")];
        const image = repository === undefined ? undefined : `${repository}/${row.project_id}`;
        await tell("building", { type: "BuildingImage", image: image ?? "operator-image" });
        await writePluginLayer(layer, plugins, store, signal);
        const base = await parts.base.layout(work, signal);
        const digest = await tool.append({ base, layer, out: layout }, signal);
        await tell("publishing", { type: "PushingImage", image: image ?? "operator-image", progress: null });
        if (image !== undefined) {
          await tool.push({ layout, reference: `${image}:${versionOf(row)}`, work }, signal);
        }
        await writeLayout(layout, archive, signal);
        await dropOldArchives(parts, row, signal);
        const file = archiveOf(row);
        await store.putFile(packageKey(file), archive, IMAGES.contentType, signal);
        const address = parts.baseUrl() + packagePath(secret, IMAGES, file);
        return {
          type: "operator-image",
          image: image ?? address,
          digest,
          labelDomain: null,
          archive: address,
          plugins: values,
        };
      });
    },
    discard: (row, signal) => store.remove(packageKey(archiveOf(row)), signal),
  };
}

function act<T>({ db }: ImageParts, signal: AbortSignal, work: (transaction: Db) => Promise<T>): Promise<T> {
  return inTransaction(db, { readOnly: false, signal, onRetry: () => undefined }, work);
}

/** An OCI archive: the layout's files by their names. */
async function writeLayout(layout: string, archive: string, signal: AbortSignal): Promise<void> {
  const entries = await readdir(layout, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(layout.length + 1))
    .sort();
  await writeTar(
    archive,
    async (tar) => {
      for (const name of names) {
        const path = join(layout, name);
        await tar.file({ name, size: (await stat(path)).size }, createReadStream(path));
      }
    },
    signal,
  );
}

/** Gives `work` a folder, and removes it when the work has ended, and those that killed processes have left. */
async function inWorkFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), WORK_FOLDER));
  try {
    await removeLeft((await stat(folder)).mtimeMs - LEFT_MS);
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** @param before by the file system's own clock. */
async function removeLeft(before: number): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(WORK_FOLDER)) continue;
    const folder = join(tmpdir(), name);
    const found = await stat(folder).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < before) await rm(folder, { recursive: true, force: true });
  }
}
