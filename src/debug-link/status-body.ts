/** Reasons of the API server's own refusals. */
const REASONS = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  405: "MethodNotAllowed",
  413: "RequestEntityTooLarge",
  414: "RequestURITooLong",
  429: "TooManyRequests",
  502: "ServiceUnavailable",
  503: "ServiceUnavailable",
} as const;

export type RefusalCode = keyof typeof REASONS;

/** A refusal of ours, and not of the cluster, in the form that kubectl prints in words: the API server's own. */
export function statusBody(code: RefusalCode, words: string): string {
  return JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    // Of a refused exec kubectl prints the message alone, so the word is in it.
    message: `sallyport: ${code === 403 ? "forbidden: " : ""}${words}`,
    reason: REASONS[code],
    code,
  });
}
