import { bytesField, intField, textField, watchFrame, wrapped } from "./protobuf-writer.ts";

/** As much of a pod as the fake server has. */
export interface PodFixture {
  readonly name: string;
  readonly phase: string;
  readonly resourceVersion: string;
  /** The text of an annotation. */
  readonly note?: string;
}

export interface StatusFixture {
  readonly code: number;
  readonly reason?: string;
  readonly message?: string;
}

/** One of the two ways in which a server says the same. */
export interface WireEncoding {
  readonly listType: string;
  readonly watchType: string;
  event(type: "ADDED" | "MODIFIED" | "DELETED", pod: PodFixture): Buffer;
  bookmark(resourceVersion: string, initialEnd: boolean): Buffer;
  error(status: StatusFixture): Buffer;
  list(pods: readonly PodFixture[], resourceVersion: string, next: string): Buffer;
}

/** Non-ASCII, so that every cut inside of a character is met too. */
const NAMESPACE = "grüße";
const END = "k8s.io/initial-events-end";

function podJson({ name, phase, resourceVersion, note }: PodFixture): object {
  const metadata = {
    name,
    namespace: NAMESPACE,
    uid: `uid-${name}`,
    resourceVersion,
    managedFields: [{ manager: "x" }],
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, ...(note !== undefined && { annotations: { note } }) },
    status: { phase },
  };
}

function line(type: string, object: object): Buffer {
  return Buffer.from(`${JSON.stringify({ type, object })}\n`);
}

export const jsonEncoding: WireEncoding = {
  listType: "application/json",
  watchType: "application/json",
  event: (type, pod) => line(type, podJson(pod)),
  bookmark: (resourceVersion, initialEnd) =>
    line("BOOKMARK", {
      kind: "Pod",
      metadata: { resourceVersion, ...(initialEnd ? { annotations: { [END]: "true" } } : {}) },
    }),
  error: (status) => line("ERROR", { kind: "Status", status: "Failure", ...status }),
  list: (pods, resourceVersion, next) =>
    Buffer.from(
      JSON.stringify({ kind: "PodList", metadata: { resourceVersion, continue: next }, items: pods.map(podJson) }),
    ),
};

function podBytes({ name, phase, resourceVersion, note }: PodFixture): Buffer {
  const metadata = bytesField(
    1,
    textField(1, name),
    textField(3, NAMESPACE),
    textField(5, `uid-${name}`),
    textField(6, resourceVersion),
    ...(note === undefined ? [] : [bytesField(12, textField(1, "note"), textField(2, note))]),
    // managedFields, to be skipped
    bytesField(17, textField(1, "x")),
  );
  return Buffer.concat([metadata, bytesField(2, textField(10, "")), bytesField(3, textField(1, phase))]);
}

export const protobufEncoding: WireEncoding = {
  listType: "application/vnd.kubernetes.protobuf",
  watchType: "application/vnd.kubernetes.protobuf;stream=watch",
  event: (type, pod) => watchFrame(type, wrapped("v1", "Pod", podBytes(pod))),
  bookmark(resourceVersion, initialEnd) {
    const annotations = initialEnd ? bytesField(12, textField(1, END), textField(2, "true")) : Buffer.alloc(0);
    const metadata = bytesField(1, textField(6, resourceVersion), annotations);
    return watchFrame("BOOKMARK", wrapped("v1", "Pod", metadata), true);
  },
  error: ({ code, reason = "", message = "" }) =>
    watchFrame(
      "ERROR",
      wrapped("v1", "Status", Buffer.concat([textField(3, message), textField(4, reason), intField(6, code)])),
    ),
  list(pods, resourceVersion, next) {
    const metadata = bytesField(1, textField(2, resourceVersion), textField(3, next));
    return wrapped("v1", "PodList", Buffer.concat([metadata, ...pods.map((pod) => bytesField(2, podBytes(pod)))]));
  },
};
