import {
  PACKAGE_OUTPUTS,
  PACKAGE_TYPES,
  type PackageOutputs,
  type PackageType,
} from "../../../contract/packages/package-types.ts";
import { invalid } from "../../kernel/errors.ts";
import { Checker } from "../../kernel/input/syntax.ts";

/** One checker for each type, so that an issue names the field and not "none of six shapes". */
const CHECKERS = new Map(PACKAGE_TYPES.map((type) => [type, new Checker("body.outputs", PACKAGE_OUTPUTS[type])]));

/** Checks a build's outputs against the package's type. @throws VALIDATION_ERROR naming what does not fit. */
export function outputsFor(type: PackageType, outputs: unknown): PackageOutputs {
  const issues = CHECKERS.get(type)?.issues(outputs) ?? [];
  if (issues.length > 0) {
    throw invalid(...issues.map(({ path, message }) => ({ path, message: `of a ${type} package ${message}` })));
  }
  return outputs as PackageOutputs;
}
