import { PGlite } from "@electric-sql/pglite";
import pg from "pg";

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

let record: Statement[] | undefined;

/** What this process asked of its database, in order, since `startRecording`. One request at a time, please. */
export function takeRecording(): readonly Statement[] {
  const taken = record ?? [];
  record = undefined;
  return taken;
}

export function startRecording(): void {
  record = [];
}

function note(question: unknown, values: unknown): void {
  if (record === undefined) return;
  const isObject = typeof question === "object" && question !== null;
  const text = isObject && "text" in question ? question.text : question;
  const given = isObject && "values" in question ? question.values : values;
  if (typeof text === "string") record.push({ text, values: Array.isArray(given) ? [...given] : [] });
}

type Query = (this: unknown, question: unknown, values: unknown, ...rest: unknown[]) => unknown;

/** Listens at the drivers, where nothing that the platform does can be missed. Before the first connection. */
export function tapDrivers(): void {
  const client = pg.Client.prototype as unknown as { query: Query };
  client.query = tapped(client.query);
  const embedded = PGlite.prototype as unknown as { query: Query; exec: Query; transaction: PGlite["transaction"] };
  embedded.query = tapped(embedded.query);
  embedded.exec = tapped(embedded.exec);
  const { transaction } = embedded;
  embedded.transaction = async function (this: PGlite, work) {
    note("begin", []);
    const result = await transaction.call(this, (inside) =>
      work({ ...inside, query: tapped(inside.query as Query) as typeof inside.query }),
    );
    note("commit", []);
    return result as never;
  };
}

function tapped(query: Query): Query {
  return function (this: unknown, question, values, ...rest) {
    note(question, values);
    return query.call(this, question, values, ...rest);
  };
}
