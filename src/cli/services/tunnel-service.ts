import { loadTunnelConfig, TUNNEL_SETTINGS } from "../../tunnel/kernel/config.ts";
import { runTunnel } from "../../tunnel/tunnel.ts";
import type { Service } from "./service-command.ts";

export const tunnelService: Service = {
  settings: TUNNEL_SETTINGS,
  ports: [TUNNEL_SETTINGS.healthPort.env, TUNNEL_SETTINGS.metricsPort.env],
  run: (env, tools, signal) => runTunnel(loadTunnelConfig(env), { ...tools, environment: env }, signal),
};
