import { registerHooks } from "node:module";
import { isAllowedImport, PLUGIN_PACKAGE } from "../../../plugins/module-imports.ts";

/**
 * From here on: `plugin` itself, what it is written against, and nothing else, by `import` as by `import()`.
 *
 * @param plugin file URL of its module
 * @param api file URL of `@sallyport/plugin` as it is here
 */
export function limitImports(plugin: string, api: string): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === PLUGIN_PACKAGE) return { url: api, shortCircuit: true };
      if (specifier === plugin && context.parentURL !== plugin)
        return { url: plugin, format: "module", shortCircuit: true };
      if (isAllowedImport(specifier)) return next(specifier, context);
      throw new Error(`a plugin may not import ${specifier}`);
    },
  });
}
