const REASONS: Readonly<Record<number, string>> = {
  400: "BadRequest",
  403: "Forbidden",
  405: "MethodNotAllowed",
  413: "RequestEntityTooLarge",
  429: "TooManyRequests",
  502: "ServiceUnavailable",
  503: "ServiceUnavailable",
};

/** What kubectl prints in words: the API server's own form of an error. */
export function statusBody(code: number, words: string): string {
  return JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    // Of a refused exec kubectl prints the message alone, so the word is in it.
    message: `sallyport: ${code === 403 ? "forbidden: " : ""}${words}`,
    reason: REASONS[code] ?? "InternalError",
    code,
  });
}
