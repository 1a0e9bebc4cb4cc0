/** What was asked for on the server's own commands cannot be done, in words for whoever typed it. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
}
