/** One thing that is wrong with a stack. */
export interface StackProblem {
  /** From the stack on: `resources.web.config.image`. */
  readonly path: string;
  readonly message: string;
}

/** More are not told at once: an answer has no more issues either (§0.4). */
export const MAX_STACK_PROBLEMS = 50;

/** The author's own text in a path or message. */
export function shortened(text: string): string {
  return text.slice(0, 128);
}
