import { type Boundary, findBoundary } from "../../../operator/plugin-process/boundary.ts";
import { MODULE_FILE } from "../../../plugins/metadata.ts";

/** Gives the boundary for a plugin's code on a person's machine; undefined where there is none. */
export type ChooseBoundary = () => Promise<Boundary | undefined>;

/** @param say is called once, before code runs for the first time: a person knows then what is between it and their machine */
export function boundaryOf(say: (line: string) => void, find: ChooseBoundary = findBoundary): ChooseBoundary {
  let chosen: Promise<Boundary | undefined> | undefined;
  const choose = async (): Promise<Boundary | undefined> => {
    const boundary = await find();
    say(boundary === undefined ? WITHOUT : within(boundary));
    return boundary;
  };
  return () => {
    chosen ??= choose();
    return chosen;
  };
}

function within({ name }: Boundary): string {
  return `${MODULE_FILE} runs in Linux namespaces of its own (${name}): without network, and with no file or socket of this machine but what Node.js loads`;
}

const WITHOUT = `WARNING: ${MODULE_FILE} runs without a boundary of the operating system, which this machine does not have (Linux with bwrap, or with unshare and user namespaces): Node.js alone holds it. Run this in a container for a plugin of a stranger's`;
