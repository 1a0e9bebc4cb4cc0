/** `accessRequests` → `access-requests`, as in paths and on the command line. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
