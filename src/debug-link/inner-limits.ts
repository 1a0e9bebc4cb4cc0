// What both ends of a session's TLS and HTTP/2 keep to.

/** TLS and the first settings, together; both cross the relay twice. */
export const HANDSHAKE_MS = 15_000;
/** What one stream, and all together, may have on their way unread. */
export const STREAM_WINDOW_BYTES = 1_048_576;
export const CONNECTION_WINDOW_BYTES = 4 * STREAM_WINDOW_BYTES;
export const HEADER_LIST_BYTES = 32_768;
