import pino from "pino";
import type { DatabaseLocation } from "../../../src/platform/database/open.ts";
import { type RunningPlatform, startPlatform } from "../../../src/platform/server.ts";
import { ownUsage, serveCommands } from "./child.ts";
import { startRecording, takeRecording, tapDriver } from "./recorded-sql.ts";

let platform: RunningPlatform | undefined;

function running(): RunningPlatform {
  if (platform === undefined) throw new Error("start first");
  return platform;
}

const commands = {
  /** The server as the command line starts it, with its access log, which goes nowhere. */
  async start({ database, record }: { readonly database: DatabaseLocation; readonly record: boolean }) {
    if (record) tapDriver();
    const log = pino({ level: "info" }, pino.destination({ dest: "/dev/null", sync: true }));
    platform = await startPlatform({ database, log, rateLimits: false, sealingKey: new Uint8Array(32) });
    return { port: platform.port };
  },
  async workspace({ name }: { readonly name: string }) {
    const { bootstrap } = running();
    const { id } = await bootstrap.workspace(name);
    const { key } = await bootstrap.key({ workspaceId: id, role: "workspace.admin", scope: { type: "workspace" } });
    const manager = await bootstrap.manager({ workspaceId: id, name: "bench", shared: true });
    return { workspaceId: id, key, managerId: manager.id, managerKey: manager.key };
  },
  startRecording,
  takeRecording,
  usage: ownUsage,
  async close() {
    const startedMs = performance.now();
    await running().close();
    return { tookMs: performance.now() - startedMs };
  },
};

export type PlatformCommands = typeof commands;
serveCommands(commands);
