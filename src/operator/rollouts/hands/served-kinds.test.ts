import { expect, test } from "vitest";
import { ApiError } from "../../../kube/client/api-error.ts";
import type { Exchange, ExchangeRequest } from "../../../kube/client/exchange.ts";
import { ServedKinds } from "./served-kinds.ts";

const signal = new AbortController().signal;
const manifest = (apiVersion: string, kind: string) => ({ apiVersion, kind, metadata: { name: "a" } });

/** An API server that serves Deployments, and what is added to `kinds`. */
function server() {
  const asked: string[] = [];
  const kinds = [
    { name: "deployments", kind: "Deployment", namespaced: true },
    { name: "deployments/scale", kind: "Scale", namespaced: true },
  ];
  const json = ({ path }: ExchangeRequest): Promise<unknown> => {
    asked.push(path);
    if (path === "/apis/apps/v1") return Promise.resolve({ resources: kinds });
    return Promise.reject(new ApiError("no", { status: path.includes("away") ? 503 : 404, reason: "" }));
  };
  return { asked, kinds, exchange: { json } as Pick<Exchange, "json"> };
}

test("a kind is asked for once, and one that was not served before again", async () => {
  const { asked, kinds, exchange } = server();
  const served = new ServedKinds();
  const wanted = [manifest("apps/v1", "Deployment"), manifest("apps/v1", "Gadget")];
  const [known, unknown] = wanted.map(await served.of(exchange, wanted, signal));
  expect(known).toEqual({ group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true });
  expect(unknown).toBeUndefined();
  await served.of(exchange, wanted.slice(0, 1), signal);
  kinds.push({ name: "gadgets", kind: "Gadget", namespaced: false });
  const [, gadget] = wanted.map(await served.of(exchange, wanted, signal));
  expect(gadget).toMatchObject({ plural: "gadgets", namespaced: false });
  expect(asked).toEqual(["/apis/apps/v1", "/apis/apps/v1", "/apis/apps/v1"]);
});

test.each([
  ["a part of another kind", "apps/v1", "Scale"],
  ["a group that is not there", "example.com/v1", "Gadget"],
  ["no group and version", "../../v1", "Pod"],
  ["a path", "v1/namespaces/kube-system", "Secret"],
])("%s is not served", async (_, apiVersion, kind) => {
  const { asked, exchange } = server();
  const wanted = [manifest(apiVersion, kind)];
  expect(wanted.map(await new ServedKinds().of(exchange, wanted, signal))).toEqual([undefined]);
  expect(asked.every((path) => /^\/apis?\/[a-z.]+\/v1$/.test(path))).toBe(true);
});

test("an API server that is away is an error, and not a kind that is missing", async () => {
  const { exchange } = server();
  const asked = new ServedKinds().of(exchange, [manifest("away/v1", "Gadget")], signal);
  await expect(asked).rejects.toMatchObject({ status: 503 });
});
