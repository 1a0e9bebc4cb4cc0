import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { isSecretOf, NONCE_KEY, releaseSecretName } from "../../../crds/release-secret.ts";
import { type RenderRequest, renderStack } from "./render-stack.ts";
import { requestOf, resource } from "./testing/golden-cases.ts";

const SALT = Buffer.alloc(32, 7);
const DEPLOYMENT = "dep_0123456789abcdefghijklmnopqr";
const workload = (id: string) => resource({ id, type: "worker", image: "registry.example.com/a:1" });
const secret = (name: string, value: string, targetResources?: readonly string[]) => ({
  ...{ name, value, type: "secret" },
  ...(targetResources && { targetResources }),
});

function requestFor(variables: readonly object[], more: Partial<RenderRequest> = {}): RenderRequest {
  const resources = { api: workload("api"), jobs: workload("jobs") };
  const config = { environmentVariables: { variables } };
  return { ...requestOf({ resources, config }), secretSalt: SALT, ...more };
}

function rendered(request: RenderRequest) {
  const made = renderStack(request);
  if (!made.ok) throw new Error(JSON.stringify(made.problems));
  return made;
}

const valuesOf = (request: RenderRequest): Readonly<Record<string, string>> => {
  const { [NONCE_KEY]: _, ...data } = rendered(request).secret?.data ?? {};
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));
};

/** Each variable of each container, with the value that the Secret has for it. */
function received(request: RenderRequest): readonly string[] {
  const { objects, secret: made } = rendered(request);
  const values = valuesOf(request);
  return objects.flatMap(({ resourceId, manifest }) => {
    const { spec } = manifest as {
      spec?: { template?: { spec: { containers: readonly { env?: readonly Env[] }[] } } };
    };
    return (spec?.template?.spec.containers ?? []).flatMap(({ env = [] }) =>
      env.map(({ name, value, valueFrom }) => {
        if (valueFrom !== undefined) expect(valueFrom.secretKeyRef.name).toBe(made?.name);
        return `${resourceId} ${name}=${value ?? values[valueFrom?.secretKeyRef.key ?? ""]}`;
      }),
    );
  });
}

interface Env {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

describe("telemetry", () => {
  const monitoring = { logsEndpoint: "https://logs.example.com/v1/logs", logsAuthHeader: "Bearer one, two" };
  const request = (
    variables: readonly object[] = [],
    more: object = { monitoring: { ...monitoring, resourceAttributes: { "a b": "c" } } },
  ) => {
    const made = requestFor(variables);
    return { ...made, config: { ...(made.config as object), ...more } };
  };

  it("reaches the containers by OpenTelemetry's variables, the header as a secret; a variable of one's own counts", () => {
    expect(received(request()).slice(0, 3)).toEqual([
      "api OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=https://logs.example.com/v1/logs",
      "api OTEL_EXPORTER_OTLP_LOGS_HEADERS=Authorization=Bearer%20one%2C%20two",
      "api OTEL_RESOURCE_ATTRIBUTES=a%20b=c",
    ]);
    expect(valuesOf(request())).toEqual({ OTEL_EXPORTER_OTLP_LOGS_HEADERS: "Authorization=Bearer%20one%2C%20two" });
    const own = { name: "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", value: "http://localhost:4318", type: "plain" };
    expect(received(request([own]))[0]).toBe("api OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=http://localhost:4318");
  });

  it("does not, where the customer lets no secret values in, or where it is off", () => {
    const { secretSalt: _, ...without } = request();
    expect(JSON.stringify(rendered(without))).not.toContain("OTEL");
    for (const more of [{ monitoring: null }, {}]) expect(received(request([], more))).toEqual([]);
  });
});

describe("the Secret of a configuration", () => {
  it("has each value once, under the name of its variable", () => {
    const request = requestFor([secret("TOKEN", "one"), { name: "PLAIN", value: "p", type: "plain" }]);
    expect(valuesOf(request)).toEqual({ TOKEN: "one" });
    expect(received(request)).toEqual(["api PLAIN=p", "api TOKEN=one", "jobs PLAIN=p", "jobs TOKEN=one"]);
  });

  it("has the resource's id with a variable that has another value there", () => {
    const request = requestFor([secret("TOKEN", "one", ["api"]), secret("TOKEN", "two", ["jobs"])]);
    expect(valuesOf(request)).toEqual({ "TOKEN.api": "one", "TOKEN.jobs": "two" });
    expect(received(request)).toEqual(["api TOKEN=one", "jobs TOKEN=two"]);
  });

  it("has a value with dollars as it was entered: a kubelet reads no variable in it", () => {
    expect(valuesOf(requestFor([secret("TOKEN", "$(HOME) $$")]))).toEqual({ TOKEN: "$(HOME) $$" });
  });

  it("is not there when nothing is secret", () => {
    expect(rendered(requestFor([{ name: "A", value: "1", type: "plain" }])).secret).toBeUndefined();
  });

  it.each<[string, readonly object[], string]>([
    [
      "more than 256 KiB",
      Array.from({ length: 30 }, (_, n) => secret(`A_${n}`, `${n}`.padStart(10_000, "x"))),
      "TOO_LARGE",
    ],
    ["more than 500 values", Array.from({ length: 501 }, (_, n) => secret(`A_${n}`, `${n}`)), "TOO_LARGE"],
  ])("is refused with %s", (_, variables, code) => {
    const made = renderStack(requestFor(variables));
    expect(made.ok ? [] : made.problems.map((each) => each.code)).toEqual([code]);
  });

  it("is refused with a variable whose name no Secret takes", () => {
    const inputs = [{ id: "a", kind: "secret", label: "A", required: true, env: [{ name: "A/B" }] }];
    const config = { inputValues: { a: "canary" } };
    const made = renderStack({
      ...requestOf({ resources: { api: workload("api") }, inputs, config }),
      secretSalt: SALT,
    });
    expect(made).toMatchObject({ ok: false, problems: [{ path: "config.inputValues.a", code: "STACK_INVALID" }] });
    expect(JSON.stringify(made)).not.toContain("canary");
  });
});

describe("its name", () => {
  const nameOf = (...args: Parameters<typeof requestFor>) => rendered(requestFor(...args)).secret?.name ?? "";
  const one = nameOf([secret("TOKEN", "one")]);

  it("is the deployment's, and the same for the same values", () => {
    expect(isSecretOf(DEPLOYMENT, one)).toBe(true);
    expect(nameOf([secret("TOKEN", "one")], { releaseId: "rel_other", version: "2" })).toBe(one);
  });

  it("is another with another value, variable, deployment or salt, so that pods restart", () => {
    const others = [
      nameOf([secret("TOKEN", "two")]),
      nameOf([secret("OTHER", "one")]),
      nameOf([secret("TOKEN", "one")], { deploymentId: "dep_other" }),
      nameOf([secret("TOKEN", "one")], { secretSalt: Buffer.alloc(32, 8) }),
    ];
    expect(new Set([one, ...others]).size).toBe(5);
    const hashes = ["one", "two"].map((value) => rendered(requestFor([secret("TOKEN", value)])).configHash);
    expect(new Set(hashes).size).toBe(2);
  });

  it("cannot be computed from guessed values without the nonce", () => {
    const guess = { TOKEN: Buffer.from("one").toString("base64") };
    expect(releaseSecretName(DEPLOYMENT, guess)).not.toBe(one);
    const data = rendered(requestFor([secret("TOKEN", "one")])).secret?.data ?? {};
    expect(releaseSecretName(DEPLOYMENT, data)).toBe(one);
    expect(releaseSecretName(DEPLOYMENT, { ...data, TOKEN: "dHdv" })).not.toBe(one);
  });

  it.each<[string, string, boolean]>([
    ["dep-a", `cfg-dep-a-${"0".repeat(32)}`, true],
    ["DEP_A.b", `cfg-dep-a-b-${"0".repeat(32)}`, true],
    ["dep-a", `cfg-dep-a-b-${"0".repeat(32)}`, false],
    ["dep-a", `cfg-dep-a-${"0".repeat(31)}`, false],
    ["dep-a", `cfg-dep-b-${"0".repeat(32)}`, false],
    ["dep-a", "db-password", false],
  ])("%s: %s is its own: %s", (deploymentId, name, isOwn) => {
    expect(isSecretOf(deploymentId, name)).toBe(isOwn);
  });
});

test("property: no secret value is in anything but the data of the Secret, in no form that could be tried out", () => {
  const value = fc.string({ minLength: 8, maxLength: 20, unit: fc.constantFrom(..."QZXJKV0123456789") });
  const variable = fc.record({
    name: fc.constantFrom("QA", "QB", "QC"),
    value,
    targets: fc.option(fc.subarray(["api", "jobs"], { minLength: 1 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(variable, { minLength: 1, maxLength: 5 }), (variables) => {
      const request = requestFor(variables.map((each) => secret(each.name, each.value, each.targets)));
      const { secret: made, ...rest } = rendered(request);
      const seen = JSON.stringify([rest, made?.name]);
      for (const each of variables) {
        const hashes = ["hex", "base64"].map((form) =>
          createHash("sha256")
            .update(each.value)
            .digest(form as "hex"),
        );
        for (const form of [each.value, Buffer.from(each.value).toString("base64"), ...hashes]) {
          expect(seen).not.toContain(form);
        }
      }
      // What counts is the last of a name: it arrives.
      const last = variables.findLast(({ name, targets }) => name === "QA" && (targets ?? ["api"]).includes("api"));
      if (last !== undefined) expect(received(request)).toContain(`api QA=${last.value}`);
    }),
  );
});
