import { randomUUID } from "node:crypto";
import { sleep, systemClock } from "../../src/base/clock.ts";
import { SHOP } from "../world/people.ts";
import { persist } from "./persist.ts";
import { Chance } from "./random.ts";
import { Story } from "./story.ts";
import type { Witness } from "./witness.ts";
import type { World } from "./world.ts";

/** Stories under way at any time. */
const AT_ONCE = 8;

/** Starts stories and automatic operations, always as many at a time. */
export class Plays {
  readonly stories: Story[] = [];
  /** Command ids. */
  readonly automatic: string[] = [];
  readonly #world: World;
  readonly #witness: Witness;
  readonly #seed: number;
  readonly #chance: Chance;
  readonly #maxMinutes: number;
  readonly #signal: AbortSignal;
  readonly #running = new Map<Story, Promise<void>>();
  readonly #broken: string[] = [];
  #isOpen = true;
  #automaticEnds: Promise<void> = Promise.resolve();

  /**
   * @param seed decides the stories; their order of ending does not change them.
   * @param maxMinutes longest window that is approved.
   */
  constructor(world: World, witness: Witness, seed: number, maxMinutes: number, signal: AbortSignal) {
    this.#world = world;
    this.#witness = witness;
    this.#seed = seed;
    this.#chance = new Chance(seed);
    this.#maxMinutes = maxMinutes;
    this.#signal = signal;
  }

  get inFlight(): number {
    return this.#running.size;
  }

  open(): void {
    for (let count = 0; count < AT_ONCE; count += 1) this.#begin();
    this.#automaticEnds = this.#keepInvoking().catch((error: unknown) => {
      if (!this.#signal.aborted) this.#broken.push(`automatic operations: ${String(error)}`);
    });
  }

  /**
   * Starts no new ones and waits for those under way. @returns those that did not end in time, or not as they should
   */
  async close(limitMs: number): Promise<readonly string[]> {
    this.#isOpen = false;
    const all = Promise.all([...this.#running.values(), this.#automaticEnds, this.#automaticOver()]);
    const limit = new AbortController();
    await Promise.race([all, sleep(systemClock, limitMs, limit.signal).catch(() => undefined)]);
    limit.abort();
    return [...this.#broken, ...[...this.#running.keys()].map((story) => this.#whereIs(story))];
  }

  #begin(): void {
    const number = this.stories.length + 1;
    const story = new Story(number, new Chance(this.#seed + number * 7_919), this.#maxMinutes);
    this.stories.push(story);
    const play = story.play(this.#world, this.#witness, this.#signal).then(
      () => void this.#running.delete(story),
      (error: unknown) => {
        this.#running.delete(story);
        if (!this.#signal.aborted) this.#broken.push(`${story.workload} (${story.requestId}): ${String(error)}`);
      },
    );
    this.#running.set(story, play);
    void play.then(() => {
      if (this.#isOpen) this.#begin();
    });
  }

  async #keepInvoking(): Promise<void> {
    const signal = this.#signal;
    const { engineer, project, deploymentId } = this.#world;
    while (this.#isOpen) {
      await sleep(systemClock, this.#chance.between(300, 2_500), signal);
      const call = {
        query: { project },
        body: { deploymentId, plugin: "kubernetes", operation: "get-pods", params: { namespace: SHOP } },
        idempotencyKey: randomUUID(),
      };
      const { commandId } = await persist((each) => engineer.operations.invoke(call, each), signal);
      if (commandId !== undefined) this.automatic.push(commandId);
    }
  }

  async #automaticOver(): Promise<void> {
    await this.#automaticEnds;
    for (const id of this.automatic) {
      for (;;) {
        const read = (each: AbortSignal) => this.#world.engineer.commands.get({ params: { id } }, each);
        const { state } = await persist(read, this.#signal);
        if (state !== "PENDING" && state !== "DISPATCHED") break;
        await sleep(systemClock, 300, this.#signal);
      }
    }
  }

  #whereIs(story: Story): string {
    const { status } = this.#witness.grant(story.name) ?? {};
    return `${story.workload} (${story.requestId}), ${story.answer}: grant ${status?.state} ${JSON.stringify(status?.commands)}`;
  }
}
