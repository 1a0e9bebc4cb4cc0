import { runJoin } from "../../join/join.ts";
import { JOIN_SETTINGS, loadJoinConfig } from "../../join/kernel/config.ts";
import type { Service } from "./service-command.ts";

export const joinService: Service = {
  settings: JOIN_SETTINGS,
  ports: [JOIN_SETTINGS.port.env, JOIN_SETTINGS.healthPort.env, JOIN_SETTINGS.metricsPort.env],
  run: (env, tools, signal) => runJoin(loadJoinConfig(env), { ...tools, environment: env }, signal),
};
