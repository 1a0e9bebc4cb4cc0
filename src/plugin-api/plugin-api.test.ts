import { expect, expectTypeOf, it } from "vitest";
import { ApiError, defineOperation, type KubeObject, OperationError } from "./index.ts";

it("gives run and verify the type that bind returns", async () => {
  const operation = defineOperation({
    bind: ({ name }) => {
      if (name === "*") throw new OperationError("name is one object");
      return { name: String(name) };
    },
    async run({ params }) {
      expectTypeOf(params).toEqualTypeOf<{ name: string }>();
      return { length: params.name.length };
    },
    async verify(_, done) {
      expectTypeOf(done).toEqualTypeOf<{ length: number }>();
      return done;
    },
  });
  expect(operation.bind?.({ name: "web" })).toEqual({ name: "web" });
  expect(() => operation.bind?.({ name: "*" })).toThrow("name is one object");
});

it("gives params as the metadata's schema describes them, where there is no bind", () => {
  defineOperation({
    async run({ client, params }) {
      expectTypeOf(params).toEqualTypeOf<Readonly<Record<string, unknown>>>();
      const [first] = await client.list<KubeObject & { spec: { replicas: number } }>(
        { group: "apps", version: "v1", plural: "deployments" },
        { namespace: "shop" },
      );
      expectTypeOf(first?.spec.replicas).toEqualTypeOf<number | undefined>();
      return {};
    },
  });
  expect(new ApiError(404, "gone")).toMatchObject({ name: "ApiError", status: 404, message: "gone" });
});
