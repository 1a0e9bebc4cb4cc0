export interface AgentOptions {
  wanted(name: string): boolean;
  readonly findPeer: () => Promise<string>;
  readonly pods: number;
  readonly runs: number;
  readonly restSeconds: number;
  readonly worsened: number;
  readonly churnSeconds: number;
  readonly say: (line: string) => void;
}

export const mib = (kib: number): string => `${Math.round(kib / 1024)} MiB`;
