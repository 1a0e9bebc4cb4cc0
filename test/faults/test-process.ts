import type { Program } from "../../lab/cluster/program.ts";
import { sleep, systemClock } from "../../src/base/clock.ts";

/** A kubelet's first back-off is 10 s; the tests use a shorter one. */
const RESTART_AFTER_MS = 300;

/**
 * A process that the storm kills. When it ends by itself it is started again, as the kubelet would: an agent or
 * operator that could not renew its lease must end.
 */
export class TestProcess {
  readonly name: string;
  readonly program: Program;
  /** The address of /readyz and /metrics; undefined for a program that is not ours. */
  readonly healthUrl: string | undefined;
  endedByItself = 0;
  /** Grows with each start and each kill, so that the supervisor of an earlier start knows that it is over. */
  #life = 0;
  #ready: Promise<void> = Promise.resolve();
  #isReady = false;

  constructor(name: string, program: Program, healthUrl?: string) {
    this.healthUrl = healthUrl;
    this.name = name;
    this.program = program;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Starts it, unless it runs. */
  start(signal: AbortSignal): void {
    this.#life += 1;
    const life = this.#life;
    if (!this.program.isRunning) this.program.spawn();
    this.#ready = this.#becomeReady(life, signal);
    this.#ready.catch(() => undefined);
    void this.#supervise(life, signal);
  }

  /** Kills it as a node failure would: it can finish nothing. */
  async kill(): Promise<void> {
    this.#life += 1;
    this.#isReady = false;
    await this.program.kill();
  }

  async kept(signal: AbortSignal): Promise<void> {
    while (!this.#isReady) await sleep(systemClock, 50, signal);
  }

  /** The whole text of /metrics. */
  async metrics(): Promise<string> {
    return (await fetch(`${this.healthUrl}/metrics`)).text();
  }

  async #becomeReady(life: number, signal: AbortSignal): Promise<void> {
    await this.program.whenReady(signal);
    if (life === this.#life) this.#isReady = true;
  }

  async #supervise(life: number, signal: AbortSignal): Promise<void> {
    await this.program.whenExited();
    if (life !== this.#life || signal.aborted) return;
    this.endedByItself += 1;
    this.#isReady = false;
    await sleep(systemClock, RESTART_AFTER_MS, signal).catch(() => undefined);
    if (life === this.#life && !signal.aborted) this.start(signal);
  }
}
