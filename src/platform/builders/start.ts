import { constants } from "node:fs";
import { access } from "node:fs/promises";
import type { FastifyInstance } from "fastify";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { ConfigError } from "../../base/settings.ts";
import type { Db } from "../database/db.ts";
import type { Budgets } from "../kernel/budgets/budgets.ts";
import type { CallConfig } from "../kernel/call/call-config.ts";
import type { OpenDeps } from "../kernel/call/open-route.ts";
import type { Waker } from "../kernel/events/waker.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { helmBuilder } from "./helm/helm-builder.ts";
import { type BaseImage, openBaseImage } from "./operator-image/base-image.ts";
import { IMAGE_SETTINGS, type ImageBuilding } from "./operator-image/config.ts";
import { imageTool } from "./operator-image/image-tool.ts";
import { operatorImageBuilder } from "./operator-image/operator-image-builder.ts";
import { registerPackageFiles } from "./package-link.ts";
import { type Builder, startBuilder } from "./runner.ts";

interface Site {
  /** Undefined: nothing can be built. */
  readonly store: ObjectStore | undefined;
  /** Key made by `urlKey`. */
  readonly secret: Uint8Array;
  baseUrl(): string;
}

interface Running {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Logger;
  readonly waker: Waker;
  readonly budgets: Budgets;
  readonly config: CallConfig;
}

/** The builders inside of the platform's process. */
export interface Builders {
  /** Digest of the image to which plugins are added; undefined: builders outside make operators' images. */
  readonly baseImage: string | undefined;
  /** Registers the addresses of what they make. */
  register(app: FastifyInstance, deps: OpenDeps): void;
  /** @returns a function that stops them. */
  start(running: Running): () => Promise<void>;
}

/** @throws ConfigError when the configured image cannot be read, or the program that adds to it cannot be run. */
export async function openBuilders(
  { store, secret, baseUrl }: Site,
  building: ImageBuilding | undefined,
  signal: AbortSignal,
): Promise<Builders> {
  if (store === undefined) return { baseImage: undefined, register: () => undefined, start: startNone };
  const base = building && (await openBase(building, signal));
  return {
    baseImage: base?.digest,
    register: (app, deps) => registerPackageFiles(app, deps, { objects: store, secret }),
    start(running) {
      const builders: Builder[] = [helmBuilder({ db: running.db, store, secret, baseUrl })];
      if (building !== undefined && base !== undefined) {
        const { tool: program, registry } = building;
        const tool = imageTool(program, registry?.authFile, running.clock);
        const { repository } = registry ?? {};
        builders.push(operatorImageBuilder({ ...running, store, secret, baseUrl, base, tool, repository }));
      }
      tellImages(running.log, building, base);
      const stops = builders.map((builder) => startBuilder(running, builder));
      return () => Promise.all(stops.map((stop) => stop())).then(() => undefined);
    },
  };
}

function startNone({ log }: Running): () => Promise<void> {
  log.info({}, "no object store is configured: builders outside make charts and operators' images");
  return async () => undefined;
}

async function openBase({ base, tool }: ImageBuilding, signal: AbortSignal): Promise<BaseImage> {
  await access(tool, constants.X_OK).catch((cause: unknown) => {
    const what = `${IMAGE_SETTINGS.imageTool.env} must be the program plugin-layer, which the platform's image has`;
    throw new ConfigError([`${what}: ${tool} cannot be run`], { cause });
  });
  try {
    return await openBaseImage(base, signal);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`${IMAGE_SETTINGS.operatorImage.env} must be an image that can be read: ${why}`], {
      cause: error,
    });
  }
}

function tellImages(log: Logger, building: ImageBuilding | undefined, base: BaseImage | undefined): void {
  if (building === undefined || base === undefined) {
    log.info({}, `builders outside make operators' images: ${IMAGE_SETTINGS.operatorImage.env} is not set`);
  } else {
    log.info({ base: base.digest, repository: building.registry?.repository }, "operators' images are made here");
  }
}
