import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { isRecord } from "../../../base/is-record.ts";
import { ApiError, defineOperation, type Operation, OperationError } from "../../../plugin-api/index.ts";
import { isAllowedImport, PLUGIN_PACKAGE } from "../../../plugins/module-imports.ts";
import { FriendlyError } from "../../kernel/command.ts";

const API = "sallyport.plugin-api";
const API_URL = "sallyport:plugin-api";
const API_SOURCE = `export const { ApiError, defineOperation, OperationError } = globalThis[Symbol.for("${API}")];`;

/**
 * Runs the module of the author's own plugin in this process, and gives it this program's `@sallyport/plugin`: an author needs no
 * installed package. Nothing holds it here: in a customer's cluster it runs in a process of its own.
 *
 * @throws FriendlyError when the module fails as it is loaded, or has no such operation
 */
export async function loadOperation(file: string, name: string): Promise<Operation> {
  const url = pathToFileURL(file).href;
  Object.defineProperty(globalThis, Symbol.for(API), {
    value: { ApiError, defineOperation, OperationError },
    configurable: true,
  });
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (context.parentURL !== url) return next(specifier, context);
      if (!isAllowedImport(specifier)) throw new Error(`${specifier} may not be imported by a plugin`);
      return specifier === PLUGIN_PACKAGE
        ? { url: API_URL, format: "module", shortCircuit: true }
        : next(specifier, context);
    },
    load: (loaded, context, next) =>
      loaded === API_URL ? { format: "module", source: API_SOURCE, shortCircuit: true } : next(loaded, context),
  });
  try {
    const module: unknown = await import(url);
    const operations = isRecord(module) && isRecord(module.default) ? module.default : {};
    const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
    if (isOperation(operation)) return operation;
  } catch (cause) {
    const words = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    throw new FriendlyError(`plugin.mjs fails as it is loaded: ${words}`, { cause });
  } finally {
    hooks.deregister();
  }
  throw new FriendlyError(`the default export of plugin.mjs has no ${name} with a function run`);
}

function isOperation(value: unknown): value is Operation {
  return isRecord(value) && typeof value.run === "function";
}
