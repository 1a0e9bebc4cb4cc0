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
    message: `sallyport: ${words}`,
    reason: REASONS[code] ?? "InternalError",
    code,
  });
}
