export interface DebugOptions {
  wanted(name: string): boolean;
  /** Of `get pods`, each way. */
  readonly rounds: number;
  /** Of each kind of transfer, each way. */
  readonly runs: number;
  readonly mebibytes: number;
  /** Sessions opened one after the other. */
  readonly opens: number;
  /** Sessions that each hand ends. */
  readonly kills: number;
  /** Held in one tunnel. */
  readonly sessions: number;
  readonly say: (line: string) => void;
}
