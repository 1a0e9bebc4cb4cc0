import Type, { type Static } from "typebox";
import { KubernetesConfig } from "../stacks/kubernetes-config.ts";
import { Bounded, FreeMap, Maybe, Nullable, PLATFORMS, STACK_BYTES, Strict, WordList, Words } from "../wire/schema.ts";
import { Input } from "./deployment.ts";
import { MAX_DEPENDENCIES } from "./deployment-state.ts";

type PlatformName = (typeof PLATFORMS)[number];

const count = Type.Integer({ minimum: 0, maximum: 1_000_000 });
const texts = Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 1000 });

/** The rules for a value. `format` is for forms only; the platform checks the rest wherever it accepts a value. */
const InputValidation = Type.Object({
  format: Maybe(Type.String({ maxLength: 64 })),
  min: Maybe(Type.Number()),
  max: Maybe(Type.Number()),
  minLength: Maybe(count),
  maxLength: Maybe(count),
  minItems: Maybe(count),
  maxItems: Maybe(count),
  pattern: Maybe(Type.String({ maxLength: 512, description: "Regular expression with the `u` flag." })),
  values: Maybe(texts),
});

/** One question that a release asks, as its stack declares it. Keys that are not named here are kept. */
export const StackInput = Type.Object({
  ...Input.properties,
  id: Type.String({ minLength: 1, maxLength: 128 }),
  description: Maybe(Type.String({ maxLength: 4096 })),
  placeholder: Maybe(Type.String({ maxLength: 1024 })),
  default: Maybe(Type.Object({ type: Words(["string", "number", "boolean", "stringList"]), value: Type.Unknown() })),
  env: Type.Optional(Type.Array(Type.Object({ name: Type.String({ maxLength: 256 }) }), { maxItems: 100 })),
  platforms: Maybe(WordList(PLATFORMS)),
  providedBy: Type.Optional(WordList(["developer", "deployer"])),
  validation: Maybe(InputValidation),
});
export type StackInput = Static<typeof StackInput>;

export const StackResource = Type.Object({
  config: Type.Object({ id: Type.String(), type: Type.String() }),
  dependencies: Type.Array(
    Type.Union([Type.String(), Type.Object({ id: Type.String(), type: Type.Optional(Type.String()) })]),
    { maxItems: MAX_DEPENDENCIES },
  ),
  lifecycle: Words(["frozen", "live"]),
});
export type StackResource = Static<typeof StackResource>;

/** Limit for one platform's stack as JSON (§5.1). */
export const MAX_STACK_BYTES = 512 * 1024;

const stackFields = {
  id: Type.String({ minLength: 1, maxLength: 256 }),
  inputs: Type.Optional(Type.Array(StackInput, { maxItems: 200 })),
  permissions: Type.Optional(
    Type.Object({ management: Type.Optional(Type.Unknown()), profiles: Type.Optional(Type.Unknown()) }),
  ),
  supportedPlatforms: Maybe(WordList(PLATFORMS)),
};

/** What a release installs on one platform: as much of it as the platform reads (§5.1). Other keys are kept. */
export const Stack = Bounded(
  STACK_BYTES,
  Type.Object({ ...stackFields, resources: Type.Record(Type.String(), StackResource) }),
);
export type Stack = Static<typeof Stack>;

/** The same for Kubernetes, where it is what the customer's cluster renders: `config` is that of its type (§5.5). */
export const KubernetesStack = Bounded(
  STACK_BYTES,
  Type.Object({
    ...stackFields,
    resources: Type.Record(Type.String(), Type.Object({ ...StackResource.properties, config: KubernetesConfig })),
  }),
);
export type KubernetesStack = Static<typeof KubernetesStack>;

function eachPlatform<T>(schema: T): Record<PlatformName, T> {
  return Object.fromEntries(PLATFORMS.map((platform) => [platform, schema])) as Record<PlatformName, T>;
}

/** One stack for each platform; at least one must be given. */
export const NewStacks = Strict({ ...eachPlatform(Maybe(Stack)), kubernetes: Maybe(KubernetesStack) });

/** All seven platforms, null where the release has nothing for it. */
export const Stacks = Strict(eachPlatform(Nullable(FreeMap)));
export type Stacks = Static<typeof Stacks>;

/** Whether the setup of one release can serve another: equal fingerprints need no new setup. */
export const SetupFingerprints = Type.Record(
  Type.String(),
  Strict({ target: Type.String(), fingerprint: Type.String(), version: Type.Integer() }),
);
export type SetupFingerprints = Static<typeof SetupFingerprints>;
