import { ApiError } from "../../api-client/api-error.ts";

/** The platform has no such object, or it is not ours (any more): asking again changes nothing. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404 && error.code !== "ROUTE_NOT_FOUND" && !error.isTransport;
}

/** The platform does not know the route at all: an older one. */
export function isUnknownRoute(error: unknown): boolean {
  return error instanceof ApiError && (error.code === "ROUTE_NOT_FOUND" || (error.status === 404 && error.isTransport));
}

/** The platform refuses the body itself: the same body again is refused again. */
export function isUnacceptable(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 400 || error.status === 413);
}
