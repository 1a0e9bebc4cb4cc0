/** Why nothing can be rendered. Each stands for another person to act: the vendor, the customer, or both. */
export type RenderProblemCode =
  /** The vendor's stack is none that a cluster can have. */
  | "STACK_INVALID"
  /** Variables, inputs or bindings of the deployment are none that can be rendered. */
  | "CONFIGURATION_INVALID"
  /** A secret value would be written into an object that people read. */
  | "SECRET_VALUES_REFUSED"
  /** Nothing of this type is made in a cluster, and no binding names what takes its place. */
  | "UNSUPPORTED_RESOURCE"
  | "NAMESPACE_NOT_ACCEPTED"
  | "TOO_LARGE";

export interface RenderProblem {
  /** From the stack or the configuration on: `stack.resources.web.config.image`, `config.externalBindings.db`. */
  readonly path: string;
  readonly message: string;
  readonly code: RenderProblemCode;
}

/** More are not told at once: they stand in one status. */
export const MAX_RENDER_PROBLEMS = 50;
