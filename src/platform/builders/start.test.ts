import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { silentLogger } from "../../base/log.ts";
import { ConfigError } from "../../base/settings.ts";
import type { Db } from "../database/db.ts";
import { BUDGET_SIZES, Budgets } from "../kernel/budgets/budgets.ts";
import type { CallConfig } from "../kernel/call/call-config.ts";
import { Waker } from "../kernel/events/waker.ts";
import { ObjectFolder } from "../objects/object-folder.ts";
import { TestClock } from "../testing/test-clock.ts";
import type { ImageBuilding } from "./operator-image/config.ts";
import { writeBase } from "./operator-image/testing/plugins.ts";
import { openBuilders } from "./start.ts";

const folder = mkdtempSync(join(tmpdir(), "sallyport-start-test-"));
const secret = Buffer.alloc(32);
const baseUrl = (): string => "http://127.0.0.1";
const store = new ObjectFolder(join(folder, "objects"), secret, baseUrl);
const never = new AbortController().signal;
const digest = `sha256:${"b".repeat(64)}`;
beforeAll(() => store.open());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a start says, of a platform whose database is away: nothing is built. */
async function said(at: ObjectFolder | undefined, images: ImageBuilding | undefined) {
  const lines: (readonly [object, string])[] = [];
  const log = { ...silentLogger, info: (fields: object, message: string) => void lines.push([fields, message]) };
  const clock = new TestClock();
  const builders = await openBuilders({ store: at, secret, baseUrl }, images, never);
  const stop = builders.start({
    ...{ clock, log, waker: new Waker(clock), budgets: new Budgets(BUDGET_SIZES, () => undefined) },
    ...{ db: {} as unknown as Db, config: {} as unknown as CallConfig },
  });
  await stop();
  return { lines, baseImage: builders.baseImage };
}

describe("what a start says of operators' images", () => {
  it("is one line, with the base or with what is missing", async () => {
    const line = "no object store is configured: builders outside make charts and operators' images";
    expect(await said(undefined, undefined)).toEqual({ lines: [[{}, line]], baseImage: undefined });
    const missing = "SALLYPORT_PLATFORM_OPERATOR_IMAGE is not set";
    expect(await said(store, undefined)).toEqual({
      lines: [[{}, `builders outside make operators' images: ${missing}`]],
      baseImage: undefined,
    });
    const images = { base: writeBase(join(folder, "base"), digest), tool: process.execPath, registry: undefined };
    expect(await said(store, images)).toEqual({
      lines: [[{ base: digest, repository: undefined }, "operators' images are made here"]],
      baseImage: digest,
    });
  });

  it("is a refusal to start when the base cannot be read", async () => {
    const images = { base: join(folder, "absent"), tool: process.execPath, registry: undefined };
    const opening = openBuilders({ store, secret, baseUrl }, images, never);
    await expect(opening).rejects.toThrow(ConfigError);
    await expect(opening).rejects.toThrow("SALLYPORT_PLATFORM_OPERATOR_IMAGE must be an image that can be read");
  });

  it("is a refusal to start when the program cannot be run", async () => {
    const images = { base: writeBase(join(folder, "base-2"), digest), tool: join(folder, "no"), registry: undefined };
    const opening = openBuilders({ store, secret, baseUrl }, images, never);
    await expect(opening).rejects.toThrow(ConfigError);
    await expect(opening).rejects.toThrow("SALLYPORT_PLATFORM_IMAGE_TOOL must be the program plugin-layer");
  });
});
