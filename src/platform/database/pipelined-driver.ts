import type { DatabaseConnection, Driver } from "kysely";

interface Transaction {
  /** Settles when the server has answered the begin. */
  readonly begun: Promise<void>;
  readonly readOnly: boolean;
}

/**
 * A driver for connections that take several statements before the first is answered. A transaction's begin is sent
 * and not waited for, nor is the commit of one that only read: two waits less for each request. The server works in
 * order, so the first statement of the transaction, and the next user of the connection, find things as they expect.
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
      // What was read stays read: a connection that is lost now is found lost by its next user.
      if (transaction?.readOnly === true) void told(committed);
      else await committed;
    },
    rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
    releaseConnection: (connection, options) => driver.releaseConnection(connection, options),
    destroy: (options) => driver.destroy(options),
  };
}

/** The same promise; that nobody waits for it yet is no unhandled rejection. */
function told(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined);
  return promise;
}
