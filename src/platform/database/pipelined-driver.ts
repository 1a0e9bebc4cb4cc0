import type { DatabaseConnection, Driver } from "kysely";

interface Transaction {
  /** Settles when the server has answered `begin`. */
  readonly begun: Promise<void>;
  readonly readOnly: boolean;
}

/**
 * A driver that sends statements before earlier ones are answered. It does not wait for a transaction's begin, nor for
 * the commit of a read-only one, which saves two round trips for each request. The server executes in order, so the
 * first statement runs inside of the transaction and the next borrower runs after the commit.
 */
export function pipelined(driver: Driver): Driver {
  const open = new WeakMap<DatabaseConnection, Transaction>();
  return {
    init: (options) => driver.init(options),
    acquireConnection: (options) => driver.acquireConnection(options),
    async beginTransaction(connection, settings) {
      const begun = driver.beginTransaction(connection, settings);
      open.set(connection, { begun: told(begun), readOnly: settings.accessMode === "read only" });
    },
    async commitTransaction(connection) {
      const transaction = open.get(connection);
      await transaction?.begun;
      const committed = driver.commitTransaction(connection);
      // The rows are already read, so an error does not matter here. The next borrower finds out that the connection is
      // lost.
      if (transaction?.readOnly === true) void told(committed);
      else await committed;
    },
    rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
    releaseConnection: (connection, options) => driver.releaseConnection(connection, options),
    destroy: (options) => driver.destroy(options),
  };
}

/** Marks the promise as handled: it is awaited later, and must not be reported as an unhandled rejection before. */
function told(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined);
  return promise;
}
