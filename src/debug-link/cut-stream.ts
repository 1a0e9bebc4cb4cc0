import type { Http2Stream } from "node:http2";

/**
 * Breaks a stream off so that the other end sees an error. Node's `close(code)`, and `destroy()` without an error, say
 * END_STREAM first: the other end would take what it got for the whole.
 */
export function cutStream(stream: Http2Stream, why: string): void {
  if (!stream.destroyed) stream.destroy(new Error(why));
}

/** After `end`, which Node gives to a stream that was reset too: whether that was the other end's own end. */
export function isWhole({ rstCode, session, errored }: Http2Stream): boolean {
  return rstCode === NO_ERROR && errored === null && session?.destroyed !== true;
}

/** RFC 9113 §7. */
const NO_ERROR = 0;
