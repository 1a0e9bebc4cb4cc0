import type { Cloud } from "../../../contract/managers/managers.ts";

/** A machine type that a cloud offers in all of its regions. */
export interface Machine {
  readonly name: string;
  readonly cpu: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  readonly architecture: "arm64" | "x86_64";
  readonly gpu?: { readonly type: string; readonly count: number };
  /** Relative price: only the order matters, and only within one cloud. */
  readonly cost: number;
}

const GIB = 1024 ** 3;
/** The disk of every machine. A larger disk is a setting of the stack, not another machine type. */
const DISK_GIB = 100;

function machine(
  name: string,
  cpu: number,
  memoryGib: number,
  architecture: Machine["architecture"],
  cost: number,
  gpu?: Machine["gpu"],
): Machine {
  const common = { name, cpu, memoryBytes: memoryGib * GIB, diskBytes: DISK_GIB * GIB, architecture, cost };
  return gpu === undefined ? common : { ...common, gpu };
}

/** General-purpose types in steps of two, and one with a GPU, by the cloud's own names. */
export const MACHINES: Readonly<Record<Cloud, readonly Machine[]>> = {
  aws: [
    machine("m7g.large", 2, 8, "arm64", 10),
    machine("m7i.large", 2, 8, "x86_64", 12),
    machine("m7g.xlarge", 4, 16, "arm64", 20),
    machine("m7i.xlarge", 4, 16, "x86_64", 24),
    machine("m7g.2xlarge", 8, 32, "arm64", 40),
    machine("m7i.2xlarge", 8, 32, "x86_64", 48),
    machine("m7g.4xlarge", 16, 64, "arm64", 80),
    machine("m7i.4xlarge", 16, 64, "x86_64", 96),
    machine("m7g.16xlarge", 64, 256, "arm64", 320),
    machine("m7i.16xlarge", 64, 256, "x86_64", 384),
    machine("g5.xlarge", 4, 16, "x86_64", 120, { type: "nvidia-a10g", count: 1 }),
  ],
  gcp: [
    machine("t2a-standard-2", 2, 8, "arm64", 9),
    machine("n2-standard-2", 2, 8, "x86_64", 12),
    machine("t2a-standard-4", 4, 16, "arm64", 18),
    machine("n2-standard-4", 4, 16, "x86_64", 24),
    machine("t2a-standard-8", 8, 32, "arm64", 36),
    machine("n2-standard-8", 8, 32, "x86_64", 48),
    machine("t2a-standard-16", 16, 64, "arm64", 72),
    machine("n2-standard-16", 16, 64, "x86_64", 96),
    machine("n2-standard-64", 64, 256, "x86_64", 384),
    machine("g2-standard-4", 4, 16, "x86_64", 85, { type: "nvidia-l4", count: 1 }),
  ],
  azure: [
    machine("Standard_D2ps_v5", 2, 8, "arm64", 9),
    machine("Standard_D2s_v5", 2, 8, "x86_64", 12),
    machine("Standard_D4ps_v5", 4, 16, "arm64", 18),
    machine("Standard_D4s_v5", 4, 16, "x86_64", 24),
    machine("Standard_D8ps_v5", 8, 32, "arm64", 36),
    machine("Standard_D8s_v5", 8, 32, "x86_64", 48),
    machine("Standard_D16ps_v5", 16, 64, "arm64", 72),
    machine("Standard_D16s_v5", 16, 64, "x86_64", 96),
    machine("Standard_D64s_v5", 64, 256, "x86_64", 384),
    machine("Standard_NC4as_T4_v3", 4, 28, "x86_64", 66, { type: "nvidia-t4", count: 1 }),
  ],
};
