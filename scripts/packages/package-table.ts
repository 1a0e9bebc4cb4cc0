/** A package that other programs import: JavaScript and declarations of the files that its entries reach. */
export interface Library {
  readonly name: string;
  readonly description: string;
  /** Source files by the name under which they are imported. */
  readonly entries: Readonly<Record<string, string>>;
  /** Packages that the importing program has too: an object of theirs is passed in. */
  readonly peers: readonly string[];
  /** Versions of Node.js; the lowest is that of the packages that it needs. */
  readonly node: string;
}

export const LIBRARIES: readonly Library[] = [
  {
    name: "@sallyport/kube",
    description: "A Kubernetes runtime for controllers: client, caches, work queue, leader election, events, metrics.",
    entries: { ".": "src/kube/index.ts" },
    peers: ["prom-client"],
    node: ">=22.19",
  },
  {
    name: "@sallyport/api-client",
    description: "The client of Sallyport's Management API, and the contract that it is made from.",
    entries: { ".": "src/api-client/client.ts", "./contract": "src/contract/index.ts" },
    peers: [],
    node: ">=22.19",
  },
  {
    name: "@sallyport/plugin",
    description: "What the code of a plugin for Sallyport imports: defineOperation, errors, and types.",
    entries: { ".": "src/plugin-api/index.ts" },
    peers: [],
    node: ">=20.19",
  },
];

/** The program that people type: bundled, so that it loads what the word needs and brings no packages. */
export const PROGRAM = {
  name: "sallyport",
  description:
    "Asks for actions in customers' Kubernetes clusters, and decides on them: the command line of Sallyport.",
  /** What each command of the package starts. */
  commands: { sallyport: "src/cli/people.ts", "kubectl-sallyport": "src/cli/kubectl.ts" },
  node: ">=22.19",
} as const;

export type Package = Library | typeof PROGRAM;

export const PACKAGES: readonly Package[] = [...LIBRARIES, PROGRAM];

/** The folder's name below `dist` and below `deploy/npm`. */
export function folderOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}
