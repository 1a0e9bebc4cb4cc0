import { JsonReporter, type TestModule, type Vitest } from "vitest/node";

/** vitest's own, which does not print where its file is: the run deletes it. */
// biome-ignore lint/style/noDefaultExport: how vitest loads a reporter.
export default class QuietJsonReporter extends JsonReporter {
  constructor() {
    super({});
  }

  override async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    const { config, snapshot } = this.ctx;
    this.ctx = { config, snapshot, logger: { log: () => undefined } } as unknown as Vitest;
    await super.onTestRunEnd(modules);
  }
}
