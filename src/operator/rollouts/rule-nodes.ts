import { isRecord } from "../../base/is-record.ts";
import type { ReleaseManifest } from "../../crds/kinds/release-content.ts";

/** A part of an object that a release brings, of which nothing is known but that it is JSON. */
export type Node = Readonly<Record<string, unknown>>;

function at(node: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((found, key) => (isRecord(found) ? found[key] : undefined), node);
}

/** What is absent, or no map, is an empty one: the API server refuses a false form by itself. */
export function nodeAt(node: unknown, ...path: readonly string[]): Node {
  const found = at(node, path);
  return isRecord(found) ? found : {};
}

export function listAt(node: unknown, ...path: readonly string[]): readonly Node[] {
  const found = at(node, path);
  return Array.isArray(found) ? found.filter(isRecord) : [];
}

/** Absent is empty. */
export function textAt(node: unknown, ...path: readonly string[]): string {
  const found = at(node, path);
  return typeof found === "string" ? found : "";
}

/** Whether it differs from what the API server keeps of an absent field. */
export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== "" && value !== 0;
}

/** The template of the pods that the object runs; undefined: it runs none. */
export function templateOf(manifest: ReleaseManifest): Node | undefined {
  const { kind, spec } = manifest;
  if (kind === "Pod") return nodeAt(manifest);
  const template = kind === "CronJob" ? nodeAt(spec, "jobTemplate", "spec", "template") : nodeAt(spec, "template");
  return Object.keys(nodeAt(template, "spec")).length > 0 ? template : undefined;
}
