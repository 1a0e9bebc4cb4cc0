import type { BodyOf, ParamsOf, QueryOf, ResponseOf, Route, RouteTable } from "../contract/wire/route.ts";

/** `{}` and all-optional shapes may be left out, the rest must be given. */
type Part<Name extends string, T> = [T] extends [undefined]
  ? unknown
  : undefined extends T
    ? { readonly [K in Name]?: T }
    : Record<never, never> extends T
      ? { readonly [K in Name]?: T }
      : { readonly [K in Name]: T };

/** What one call of route `R` takes. */
export type Arguments<R extends Route> = Part<"params", ParamsOf<R>> &
  Part<"query", QueryOf<R>> &
  Part<"body", BodyOf<R>> & {
    /** Name of the workspace, for credentials that do not imply one (§0.3). */
    readonly workspace?: string;
    /** For routes with `Idempotency-Key`, when the caller's own retries must be one call too. Default: random, one a call. */
    readonly idempotencyKey?: string;
  };

/** The response is typed as the contract has it and not checked here: a newer platform may send more (§0.8). */
export type CallOf<R extends Route> = (args: Arguments<R>, signal: AbortSignal) => Promise<ResponseOf<R>>;

/** One function a route, under its area. */
export type CallsOf<Areas extends Readonly<Record<string, RouteTable>>> = {
  readonly [Area in keyof Areas]: { readonly [Name in keyof Areas[Area]]: CallOf<Areas[Area][Name]> };
};
