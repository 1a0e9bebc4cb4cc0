import pg from "pg";

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

let record: Statement[] | undefined;

/** The statements of this process since `startRecording`, in order. Correct only for one request at a time. */
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

/** Records in the driver, through which every statement goes. To be called before the first connection. */
export function tapDriver(): void {
  const client = pg.Client.prototype as unknown as { query: Query };
  const { query } = client;
  client.query = function (this: unknown, question, values, ...rest) {
    note(question, values);
    return query.call(this, question, values, ...rest);
  };
}
