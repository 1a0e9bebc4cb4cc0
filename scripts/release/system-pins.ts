import { readFileSync } from "node:fs";
import { join } from "node:path";

export const ARCHITECTURES = ["amd64", "arm64"] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** What an image holds beside our own code, by hash: the same commit gives the same image on each machine. */
export interface SystemPins {
  readonly node: {
    readonly version: string;
    /** Of npm's package with Node.js for that architecture. */
    readonly integrity: Readonly<Record<Architecture, string>>;
  };
  /** Debian's packages with the libraries that Node.js is linked to, and with their terms. */
  readonly debian: {
    readonly suite: string;
    readonly packages: readonly {
      readonly name: string;
      readonly version: string;
      readonly sha256: Readonly<Record<Architecture, string>>;
    }[];
  };
}

export const PINS_FILE = join(import.meta.dirname, "../../deploy/image/system-pins.json");

export function systemPins(): SystemPins {
  return JSON.parse(readFileSync(PINS_FILE, "utf8"));
}

/** npm's package with Node.js for an architecture; the package `node` installs the same. */
export function nodePackage(architecture: Architecture): string {
  return `node-linux-${architecture === "amd64" ? "x64" : architecture}`;
}
