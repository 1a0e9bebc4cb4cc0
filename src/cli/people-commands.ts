import type { Command } from "./kernel/command.ts";
import { lazyCommand } from "./lazy-command.ts";

const APPROVE = lazyCommand(
  "approve",
  "Approves a request in the customer's cluster, with your own kubeconfig.",
  async () => (await import("./customer/approve-command.ts")).approveCommand("sallyport"),
);

const RECEIPT = lazyCommand(
  "receipt",
  "What became of a request, in one document; receipt verify checks such files.",
  async () => (await import("./customer/receipt-command.ts")).receiptCommand("sallyport"),
);

/**
 * What people type, at the vendor and at the customer, beside `others`. The engineer's commands are loaded only for one of them or for
 * the overview.
 *
 * @returns the commands to choose from, for the first word that was typed
 */
export function commandsBeside(others: readonly Command[]): (name: string | undefined) => Promise<readonly Command[]> {
  const known = [...others, APPROVE, RECEIPT];
  const names = known.map((command) => command.name);
  return async (name) => {
    if (name !== undefined && (names.includes(name) || name === "--version")) return known;
    const { engineerCommands } = await import("./engineer/engineer-commands.ts");
    const { processSurroundings } = await import("./engineer/surroundings.ts");
    const { find, listed } = engineerCommands(processSurroundings, names);
    const named = name === undefined ? undefined : await find(name);
    // Under the word that the person typed, which may be an alias.
    return named === undefined || name === undefined ? [...known, ...(await listed())] : [{ ...named, name }];
  };
}
