/** Protobuf the slow and obvious way, for tests: each function gives the bytes of one field. */

export function varint(value: number | bigint): Buffer {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

export function intField(number: number, value: number | bigint): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)]);
}

export function bytesField(number: number, ...content: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

export function textField(number: number, value: string): Buffer {
  return bytesField(number, Buffer.from(value, "utf8"));
}

export function mapField(number: number, entries: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(entries).map(([key, value]) => bytesField(number, textField(1, key), textField(2, value))),
  );
}

/** `k8s\0` and a `runtime.Unknown` around an object's bytes. */
export function wrapped(apiVersion: string, kind: string, raw: Buffer): Buffer {
  const typeMeta = bytesField(1, textField(1, apiVersion), textField(2, kind));
  return Buffer.concat([
    Buffer.from("k8s\0", "latin1"),
    typeMeta,
    bytesField(2, raw),
    textField(3, ""),
    textField(4, ""),
  ]);
}

/** A frame of a watch stream. Real servers send the event bare; some wrap it as they wrap objects. */
export function watchFrame(type: string, object: Buffer, isEventWrapped = false): Buffer {
  const event = Buffer.concat([textField(1, type), bytesField(2, bytesField(1, object))]);
  const payload = isEventWrapped ? wrapped("v1", "WatchEvent", event) : event;
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}
