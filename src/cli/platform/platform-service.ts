import type { Bootstrap } from "../../platform/administration/bootstrap.ts";
import { PLATFORM_SETTINGS, readPlatformConfig } from "../../platform/platform-config.ts";
import { startPlatform } from "../../platform/server.ts";
import { sayable } from "../kernel/output.ts";
import type { Service } from "../services/service-command.ts";
import { makeFirstAdmin } from "./first-admin.ts";
import { inWords } from "./platform-flags.ts";

export const platformService: Service = {
  settings: PLATFORM_SETTINGS,
  ports: [PLATFORM_SETTINGS.port.env, PLATFORM_SETTINGS.metricsPort.env],
  async run(env, tools, signal) {
    const config = readPlatformConfig(env);
    const isTTY = process.stderr.isTTY === true;
    const { database, firstWorkspace: workspace, firstAdmin } = config;
    let welcome: ((url: string) => string) | undefined;
    const prepare = async (bootstrap: Bootstrap): Promise<void> => {
      welcome = await makeFirstAdmin({ bootstrap, database, workspace, firstAdmin, isTTY });
    };
    const platform = await inWords(() => startPlatform({ ...config, ...tools, prepare }));
    try {
      // Never into the log, which is collected and kept.
      if (welcome !== undefined) process.stderr.write(sayable(welcome(platform.url)));
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    } finally {
      await platform.close();
    }
  },
};
