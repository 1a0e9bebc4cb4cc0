/** Of an address as a socket has it: what stands for one client in a bound: its address, or the /64 of IPv6 that one machine has whole. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  if (!plain.includes(":")) return plain;
  const [head = "", tail] = plain.split("::");
  const groups = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? 0 : tail.split(":").length;
  while (tail !== undefined && groups.length + after < 8) groups.push("0");
  return groups
    .concat(tail?.split(":") ?? [])
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, "").toLowerCase())
    .join(":");
}
