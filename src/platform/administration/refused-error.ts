/** A command of the server cannot do what the administrator asked for; the message explains why. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
}
