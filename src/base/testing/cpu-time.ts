/**
 * CPU time of this process so far, in milliseconds. A bound on how long something takes is one on the difference of two:
 * wall time grows with whatever else the machine does.
 */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
