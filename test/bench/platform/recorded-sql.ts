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

/** Listens at the driver, where nothing that the platform does can be missed. Before the first connection. */
export function tapDriver(): void {
  const client = pg.Client.prototype as unknown as { query: Query };
  const { query } = client;
  client.query = function (this: unknown, question, values, ...rest) {
    note(question, values);
    return query.call(this, question, values, ...rest);
  };
}
