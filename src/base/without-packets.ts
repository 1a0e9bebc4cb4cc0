/** Of one failure: a chain of causes may be a ring. */
const MAX_CAUSES = 10;

/**
 * The failure of a connection without the bytes that its parser has stopped at: `rawPacket` of Node, `data` of undici. A server or
 * a proxy may echo the request there, and `console.error` prints an error with its causes.
 */
export function withoutPackets(failure: unknown): unknown {
  for (let each = failure, depth = 0; each instanceof Error && depth < MAX_CAUSES; each = each.cause, depth += 1) {
    Reflect.deleteProperty(each, "rawPacket");
    Reflect.deleteProperty(each, "data");
  }
  return failure;
}
