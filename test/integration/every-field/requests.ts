import { readFileSync } from "node:fs";
import { Agent, request } from "undici";
import type { Cluster } from "../../../lab/cluster/cluster.ts";
import type { Json, JsonObject } from "./json.ts";

export interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

export type Patch = (path: string, body: Json, contentType?: string) => Promise<Answer>;

/** Sends thousands of requests over connections that stay open. */
export class Requests {
  readonly #agent: Agent;
  readonly #server: string;

  constructor(cluster: Cluster) {
    this.#server = cluster.server;
    this.#agent = new Agent({ connections: 16, connect: { ca: readFileSync(cluster.caFile) } });
  }

  async send(
    token: string,
    method: "PATCH" | "DELETE",
    path: string,
    body: Json,
    contentType: string,
  ): Promise<Answer> {
    const answer = await request(this.#server + path, {
      dispatcher: this.#agent,
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": contentType },
      body: JSON.stringify(body),
    });
    return { status: answer.statusCode, body: (await answer.body.json()) as JsonObject };
  }

  patchAs(token: string): Patch {
    return (path, body, contentType = "application/merge-patch+json") =>
      this.send(token, "PATCH", path, body, contentType);
  }

  close(): Promise<void> {
    return this.#agent.close();
  }
}

/** Runs this many at a time. */
export async function inParallel<T>(
  items: Iterable<T>,
  width: number,
  each: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await each(next.value);
  };
  await Promise.all(Array.from({ length: width }, work));
}
