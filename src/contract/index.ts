// biome-ignore-all lint/performance/noBarrelFile: the package's public entry "./contract"; inside of the repository import the file itself.

export { ROUTES } from "./table.ts";
export { ERRORS, type ErrorCode } from "./wire/errors.ts";
export type { BodyOf, ParamsOf, QueryOf, ResponseOf, Route, RouteTable } from "./wire/route.ts";
