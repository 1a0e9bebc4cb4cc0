import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startVendor } from "../../lab/story/vendor.ts";
import { systemClock } from "../../src/base/clock.ts";
import { fileLogger } from "../../src/cli/services/process-logger.ts";
import type { PlatformConfig } from "../../src/platform/platform-config.ts";
import { openFront } from "./front.ts";
import type { VendorScene } from "./scene.ts";

export interface OpenVendor {
  readonly scene: VendorScene;
  stop(): Promise<void>;
}

/**
 * The vendor's side in this process: a platform on an embedded database, behind TLS at an address that pods reach. It makes
 * operators' images as `images` says.
 */
export async function openVendor(
  folder: string,
  host: string,
  images: NonNullable<PlatformConfig["images"]>,
  signal: AbortSignal,
): Promise<OpenVendor> {
  await mkdir(folder, { recursive: true });
  const log = fileLogger("platform", join(folder, "platform.log"));
  const front = await openFront(host);
  // What the platform signs, such as the addresses for a session's files, names the address that pods reach.
  const options = { port: 0, rateLimits: false, baseUrl: front.url, images };
  const vendor = await startVendor(folder, options, systemClock, log, signal).catch(async (error: unknown) => {
    await front.close();
    throw error;
  });
  front.lead(vendor.url);
  const { project, deploymentId, managerId, keyFiles } = vendor;
  const { url, authority, control } = front;
  return {
    scene: { url, authority, control, directUrl: vendor.url, project, deploymentId, managerId, keyFiles },
    async stop() {
      await front.close();
      await vendor.stop();
    },
  };
}
