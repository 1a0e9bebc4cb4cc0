import type { Dialect, Driver } from "kysely";

export interface ConnectionCounts {
  readonly busy: number;
  /** Requests in line for one. */
  readonly waiting: number;
  /** Connections that this process opens at most. */
  readonly most: number;
}

/** A dialect whose borrowed connections are counted, whichever database it is. */
export interface CountedDialect {
  readonly dialect: Dialect;
  readonly connections: () => ConnectionCounts;
}

/** @param most connections that it opens. */
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
