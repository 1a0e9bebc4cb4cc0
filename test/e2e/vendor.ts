import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startVendor } from "../../lab/story/vendor.ts";
import { systemClock } from "../../src/base/clock.ts";
import { fileLogger } from "../../src/cli/services/process-logger.ts";
import { openFront } from "./front.ts";
import type { VendorScene } from "./scene.ts";

export interface OpenVendor {
  readonly scene: VendorScene;
  stop(): Promise<void>;
}

/** The vendor's side in this process: a platform on an embedded database, behind TLS at an address that pods reach. */
export async function openVendor(folder: string, host: string, signal: AbortSignal): Promise<OpenVendor> {
  await mkdir(folder, { recursive: true });
  const log = fileLogger("platform", join(folder, "platform.log"));
  const vendor = await startVendor(folder, { port: 0, rateLimits: false }, systemClock, log, signal);
  const front = await openFront(vendor.url, host).catch(async (error: unknown) => {
    await vendor.stop();
    throw error;
  });
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
