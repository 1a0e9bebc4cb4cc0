import { loadMachinesConfig, MACHINES_SETTINGS } from "../../machine-controller/kernel/config.ts";
import { runMachineController } from "../../machine-controller/machine-controller.ts";
import type { Service } from "./service-command.ts";

export const machineControllerService: Service = {
  settings: MACHINES_SETTINGS,
  ports: [MACHINES_SETTINGS.healthPort.env, MACHINES_SETTINGS.metricsPort.env],
  run: (env, tools, signal) => runMachineController(loadMachinesConfig(env), tools, signal),
};
