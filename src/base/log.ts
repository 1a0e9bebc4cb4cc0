/**
 * What this room logs to: one line an event, message constant, data in fields. A pino logger is one.
 *
 * Levels: `error` a person must look; `warn` it healed or will be retried; `info` state changed; `debug` the rest.
 * Errors go under `err`. Never logged here: tokens, kubeconfigs, object bodies.
 */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger that adds `bindings` to every line. */
  child(bindings: object): Logger;
}

const nowhere = (): void => undefined;

/** Drops everything. For tests and for callers that want no log. */
export const silentLogger: Logger = {
  debug: nowhere,
  info: nowhere,
  warn: nowhere,
  error: nowhere,
  child: () => silentLogger,
};
