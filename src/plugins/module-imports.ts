/** The package that a plugin's module imports. The process that runs the plugin answers for it. */
export const PLUGIN_PACKAGE = "@sallyport/plugin";

/** Of `plugin.mjs`. */
export const MAX_MODULE_BYTES = 1024 * 1024;

/** Modules of Node.js that compute and reach nothing outside of the process. Everything else is refused. */
export const NODE_MODULES: readonly string[] = [
  ...["node:assert", "node:buffer", "node:crypto", "node:events", "node:path", "node:querystring"],
  ...["node:string_decoder", "node:timers", "node:timers/promises", "node:url", "node:util"],
];

const ALLOWED: Readonly<Record<string, true>> = Object.freeze(
  Object.assign(Object.create(null), Object.fromEntries([PLUGIN_PACKAGE, ...NODE_MODULES].map((name) => [name, true]))),
);

/** Calls no method: in the plugin's process, where it is asked too, the plugin can have replaced those of lists and sets. */
export function isAllowedImport(specifier: string): boolean {
  return ALLOWED[specifier] === true;
}
