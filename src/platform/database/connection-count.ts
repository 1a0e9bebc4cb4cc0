import type { Dialect, Driver } from "kysely";

export interface ConnectionCounts {
  readonly busy: number;
  /** Requests that wait for a connection. */
  readonly waiting: number;
  /** Most connections that this process opens. */
  readonly most: number;
}

/** A dialect that counts its borrowed connections, for either database. */
export interface CountedDialect {
  readonly dialect: Dialect;
  readonly connections: () => ConnectionCounts;
}

/** @param most connections that the dialect may open. */
export function counted(dialect: Dialect, most: number): CountedDialect {
  let busy = 0;
  let waiting = 0;
  const countOf = (driver: Driver): Driver => {
    const acquire = driver.acquireConnection.bind(driver);
    const release = driver.releaseConnection.bind(driver);
    driver.acquireConnection = async (options) => {
      waiting += 1;
      try {
        const connection = await acquire(options);
        busy += 1;
        return connection;
      } finally {
        waiting -= 1;
      }
    };
    driver.releaseConnection = async (connection, options) => {
      busy -= 1;
      await release(connection, options);
    };
    return driver;
  };
  return {
    dialect: {
      createAdapter: () => dialect.createAdapter(),
      createIntrospector: (db) => dialect.createIntrospector(db),
      createQueryCompiler: () => dialect.createQueryCompiler(),
      createDriver: () => countOf(dialect.createDriver()),
    },
    connections: () => ({ busy, waiting, most }),
  };
}
