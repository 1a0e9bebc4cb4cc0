import { PLATFORM_SETTINGS, readPlatformConfig } from "../../platform/platform-config.ts";
import { startPlatform } from "../../platform/server.ts";
import type { Service } from "../services/service-command.ts";
import { welcomeFirstAdmin } from "./first-admin.ts";
import { inWords } from "./platform-flags.ts";

export const platformService: Service = {
  settings: PLATFORM_SETTINGS,
  ports: [PLATFORM_SETTINGS.port.env, PLATFORM_SETTINGS.metricsPort.env],
  async run(env, tools, signal) {
    const config = readPlatformConfig(env);
    const platform = await inWords(() => startPlatform({ ...config, ...tools }));
    try {
      const { bootstrap, url } = platform;
      const first = {
        bootstrap,
        database: config.database,
        workspace: config.firstWorkspace,
        url,
        firstAdmin: config.firstAdmin,
      };
      const write = (text: string): void => void process.stderr.write(text);
      await welcomeFirstAdmin(first, { isTTY: process.stderr.isTTY === true, write });
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    } finally {
      await platform.close();
    }
  },
};
