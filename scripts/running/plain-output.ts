/** Keeps the programs that this one starts from colouring what no terminal shows: some do so all the same. */
export function usePlainOutput(): void {
  const { env, stdout } = process;
  if (!stdout.isTTY && env.FORCE_COLOR === undefined) env.NO_COLOR ??= "1";
}
