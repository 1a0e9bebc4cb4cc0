import { EventEmitter } from "node:events";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ConnectionPlaces } from "./connection-places.ts";
import { runs } from "./testing/runs.ts";

class Socket extends EventEmitter {
  readonly remoteAddress: string;
  readonly remotePort: number;
  isOpen = true;

  constructor(remoteAddress: string, remotePort: number) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  destroy(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.emit("close");
  }
}

function world(limits = { all: 8, ofOne: 4 }) {
  let refused = 0;
  const places = new ConnectionPlaces(limits, () => {
    refused += 1;
  });
  let port = 1_000;
  const comes = (address: string): Socket => {
    port += 1;
    const socket = new Socket(address, port);
    places.admit(socket);
    return socket;
  };
  return { places, comes, refused: () => refused };
}
const open = (sockets: readonly Socket[]): readonly boolean[] => sockets.map(({ isOpen }) => isOpen);

test("one network that is full loses its oldest connection that asked nothing, and takes none of another's", () => {
  const { comes, places, refused } = world();
  const other = comes("10.0.0.2");
  const [busy, ...silent] = Array.from({ length: 4 }, () => comes("10.0.0.1"));
  if (busy !== undefined) places.began(busy);
  const next = comes("10.0.0.1");
  expect([other.isOpen, busy?.isOpen, next.isOpen]).toEqual([true, true, true]);
  expect(open(silent)).toEqual([false, true, true]);
  expect(refused()).toBe(1);
});

test("the addresses of one /64 are one network, and so is IPv4 in IPv6", () => {
  const { comes } = world();
  const first = Array.from({ length: 5 }, (_, at) => comes(`2001:db8::${at}`));
  expect(open(first)).toEqual([false, true, true, true, true]);
  const mapped = ["10.0.0.1", "::ffff:10.0.0.1", "10.0.0.1", "::ffff:10.0.0.1", "10.0.0.1"].map(comes);
  expect(open(mapped)).toEqual([false, true, true, true, true]);
});

test("when all places are taken the network with most silent connections gives one up", () => {
  const { comes } = world();
  const honest = comes("10.0.0.9");
  const strangers = ["1", "2"].flatMap((each) => Array.from({ length: 4 }, () => comes(`10.1.0.${each}`)));
  const another = comes("10.0.0.8");
  expect([honest.isOpen, another.isOpen]).toEqual([true, true]);
  expect(strangers.filter(({ isOpen }) => isOpen)).toHaveLength(6);
});

test("what is being answered stays; when all are, the newest finds no place", () => {
  const { comes, places } = world({ all: 2, ofOne: 2 });
  const [one, two] = [comes("10.0.0.1"), comes("10.0.0.2")];
  for (const each of [one, two]) places.began(each);
  expect(comes("10.0.0.3").isOpen).toBe(false);
  places.ended(one);
  expect(comes("10.0.0.3").isOpen).toBe(true);
  expect([one.isOpen, two.isOpen]).toEqual([false, true]);
});

test("property: never more than there are places, nothing busy is cut, and who comes has a place while one can be given up", () => {
  const step = fc.record({
    network: fc.nat(6),
    does: fc.constantFrom("comes", "comes", "asks", "has", "goes"),
    at: fc.nat(20),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { comes, places } = world();
      const all: Socket[] = [];
      const busy = new Set<Socket>();
      for (const { network, does, at } of steps) {
        const living = all.filter(({ isOpen }) => isOpen);
        const some = living[at % Math.max(living.length, 1)];
        if (does === "comes") {
          const address = `10.0.0.${network}`;
          const ofOne = [...busy].filter(({ remoteAddress }) => remoteAddress === address).length;
          const came = comes(address);
          expect(came.isOpen).toBe(busy.size < 8 && ofOne < 4);
          all.push(came);
        } else if (some !== undefined && does === "goes") {
          busy.delete(some);
          some.destroy();
        } else if (some !== undefined) {
          if (does === "asks") busy.add(some);
          else busy.delete(some);
          places[does === "asks" ? "began" : "ended"](some);
        }
        const left = all.filter(({ isOpen }) => isOpen);
        expect(left.length).toBeLessThanOrEqual(8);
        for (let each = 0; each <= 6; each += 1)
          expect(left.filter(({ remoteAddress }) => remoteAddress === `10.0.0.${each}`).length).toBeLessThanOrEqual(4);
        expect([...busy].every(({ isOpen }) => isOpen)).toBe(true);
      }
    }),
    { numRuns: runs(300) },
  );
});
