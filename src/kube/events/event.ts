import { microTime } from "../objects/micro-time.ts";
import type { KubeObject, NewMeta } from "../objects/resource.ts";
import { apiVersionOf, resources } from "../objects/resource.ts";

/** What an event is about. `uid` ties it to this object, not to the next of its name. */
export interface EventReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
}

export interface EventNote {
  readonly regarding: EventReference;
  /** A second object, e.g. what was acted on. */
  readonly related?: EventReference;
  readonly type: "Normal" | "Warning";
  /** CamelCase, from a closed set, why; at most 128 characters. */
  readonly reason: string;
  /** CamelCase, what was done or tried; at most 128 characters. */
  readonly action: string;
  /** For a person; cut to 1,024 bytes. Never a secret: anyone who may read events reads it. */
  readonly note: string;
}

export interface KubeEvent {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: NewMeta & { readonly name: string; readonly namespace: string };
  readonly eventTime: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  readonly regarding: EventReference;
  readonly related?: EventReference;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

/** Limits of the API server's validation. */
const MAX_NOTE_BYTES = 1024;
const MAX_WORD = 128;
const MAX_NAME = 253;

export function referenceTo(object: KubeObject): EventReference {
  const { apiVersion, kind, metadata } = object;
  const namespace = metadata.namespace === undefined ? {} : { namespace: metadata.namespace };
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, ...namespace };
}

/** Equal for events of one series. The note is not part of it: notes with numbers in them would never be one. */
export function seriesKey({ regarding, related, type, reason, action }: EventNote): string {
  return JSON.stringify([type, action, reason, partsOf(regarding), related && partsOf(related)]);
}

/** @param about `suffix` makes the name unique; 16 hexadecimal digits as in client-go. */
export function eventObject(
  note: EventNote,
  about: { readonly controller: string; readonly instance: string; readonly at: Date; readonly suffix: string },
): KubeEvent {
  return {
    apiVersion: apiVersionOf(resources.events),
    kind: resources.events.kind,
    metadata: {
      // What is about a cluster-scoped object goes to `default`, where `kubectl describe` looks.
      namespace: note.regarding.namespace ?? "default",
      name: `${namePrefix(note.regarding.name, MAX_NAME - about.suffix.length - 1)}.${about.suffix}`,
    },
    eventTime: microTime(about.at),
    type: note.type,
    reason: note.reason.slice(0, MAX_WORD),
    action: note.action.slice(0, MAX_WORD),
    note: cutToBytes(note.note, MAX_NOTE_BYTES),
    regarding: note.regarding,
    ...(note.related === undefined ? {} : { related: note.related }),
    reportingController: about.controller,
    reportingInstance: about.instance.slice(0, MAX_WORD),
  };
}

/** The longest start of `text` that is at most `maxBytes` of UTF-8 and splits no character. */
export function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  // 10xxxxxx continues a character: step back to the byte that begins it.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}

/** A name ends in a letter or digit before the dot, or the API server refuses the event. RBAC names may hold colons. */
function namePrefix(name: string, maxLength: number): string {
  const prefix = name
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, "-")
    .slice(0, maxLength);
  return prefix.replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, "") || "object";
}

function partsOf({ apiVersion, kind, namespace, name, uid }: EventReference): readonly (string | undefined)[] {
  return [apiVersion, kind, namespace, name, uid];
}
