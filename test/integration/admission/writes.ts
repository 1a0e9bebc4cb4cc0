// Lines of kubectl that write, and are judged by admission alone.

export const CREATE = ["create", "--dry-run=server", "-f", "-"];

export const create = (stdin: () => object) => ({ args: CREATE, stdin });

export const patch = (kind: string, name: string, body: object, ...more: string[]): readonly string[] => [
  ...["patch", kind, name, "--type=merge", "--dry-run=server", "-p", JSON.stringify(body), ...more],
];
