import { PLATFORM_SETTINGS, readPlatformConfig } from "../platform/config.ts";
import { startPlatform } from "../platform/server.ts";
import { configured, type Service } from "./service-command.ts";
import type { SettingTable } from "./settings.ts";

const SETTINGS: SettingTable = Object.fromEntries(
  Object.entries(PLATFORM_SETTINGS).map(([name, { variable, fallback, help }]) => [
    name,
    { env: variable, default: fallback, doc: help },
  ]),
);

export const platformService: Service = {
  settings: SETTINGS,
  async run(env, tools, signal) {
    const platform = await startPlatform({ ...configured(() => readPlatformConfig(env)), ...tools });
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    await platform.close();
  },
};
