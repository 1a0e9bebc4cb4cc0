import { appendFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

/**
 * Loaded before a measured program: appends each second's longest stall of the event loop, in milliseconds, to a file. It
 * costs a wake-up each millisecond, so SIGUSR2 turns it off, and on again.
 */
const file = process.env.LOOP_DELAY_FILE ?? "/dev/null";
const delay = monitorEventLoopDelay({ resolution: 1 });
let timer: NodeJS.Timeout | undefined;

function toggle(): void {
  if (timer !== undefined) {
    clearInterval(timer);
    timer = undefined;
    delay.disable();
    return;
  }
  delay.reset();
  delay.enable();
  timer = setInterval(() => {
    appendFileSync(file, `${(delay.max / 1e6).toFixed(1)}\n`);
    delay.reset();
  }, 1_000);
  timer.unref();
}

process.on("SIGUSR2", toggle);
toggle();
