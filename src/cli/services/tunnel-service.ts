import { loadTunnelConfig, TUNNEL_SETTINGS } from "../../tunnel/kernel/config.ts";
import { runTunnel } from "../../tunnel/tunnel.ts";
import type { Service } from "./service-command.ts";

/** Beside the log's own lines, which are JSON too. */
const emit = (line: string): void => void process.stdout.write(`${line}\n`);

export const tunnelService: Service = {
  settings: TUNNEL_SETTINGS,
  ports: [TUNNEL_SETTINGS.healthPort.env, TUNNEL_SETTINGS.metricsPort.env],
  run: (env, tools, signal) => runTunnel(loadTunnelConfig(env), { ...tools, environment: env, emit }, signal),
};
