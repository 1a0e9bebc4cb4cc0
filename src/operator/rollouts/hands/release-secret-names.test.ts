import { expect, test } from "vitest";
import type { Exchange, ExchangeRequest } from "../../../kube/client/exchange.ts";
import { releaseSecretNames } from "./release-secret-names.ts";

test("all pages are read, as metadata alone", async () => {
  const pages = [
    { metadata: { continue: "second" }, items: [{ metadata: { name: "cfg-1" }, data: { a: "c2VjcmV0" } }] },
    { metadata: { continue: "third" }, items: null },
    { metadata: { continue: "" }, items: [{ metadata: { name: "cfg-2" } }] },
  ];
  const asked: unknown[] = [];
  const json = async ({ query, accept }: ExchangeRequest): Promise<unknown> => {
    asked.push(query?.continue);
    expect(accept).toContain("as=PartialObjectMetadataList");
    return pages[asked.length - 1];
  };
  const client = { exchange: { json } as unknown as Exchange };
  const found: unknown[] = [];
  for await (const page of releaseSecretNames(client, "releases", new AbortController().signal)) found.push(page);
  expect(found).toEqual([[{ metadata: { name: "cfg-1" } }], [], [{ metadata: { name: "cfg-2" } }]]);
  expect(asked).toEqual([undefined, "second", "third"]);
});
