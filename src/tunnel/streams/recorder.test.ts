import fc from "fast-check";
import { expect, test } from "vitest";
import { type ExecRecorder, SessionRecorder } from "./recorder.ts";

function recorded() {
  const events: (readonly [string, string])[] = [];
  const recorder = new SessionRecorder({
    event: (code, data) => void events.push([code, data]),
    drained: () => Promise.resolve(),
  });
  return { events, recorder };
}
const exec = (id: number, isBounded = false) => ({ id, where: `web-${id}`, isBounded });

test("what an exec shows is recorded with its terminal's size, between its two markers", () => {
  const { events, recorder } = recorded();
  const one = recorder.begin(exec(1));
  const euro = Buffer.from("€");
  one.output(1, euro.subarray(0, 1));
  one.output(2, Buffer.from("err"));
  one.output(1, euro.subarray(1));
  one.resize('{"Width":120,"Height":40}');
  one.resize('{"Width":120,"Height":40}');
  for (const size of ['{"Width":"120","Height":40}', '{"Width":0,"Height":0}', "no JSON"]) one.resize(size);
  one.output(1, euro.subarray(0, 2));
  one.end(3);
  expect(events).toEqual([
    ["m", "exec 1 begins in web-1"],
    ["o", "err"],
    ["o", "€"],
    ["r", "120x40"],
    ["o", "\ufffd"],
    ["m", "exec 1 ends with exit code 3"],
  ]);
});

test("an exec in the background has its size when it shows something, and the other one its own again", () => {
  const { events, recorder } = recorded();
  const [one, two] = [recorder.begin(exec(1)), recorder.begin(exec(2))];
  one.resize('{"Width":100,"Height":30}');
  two.resize('{"Width":80,"Height":20}');
  one.output(1, Buffer.from("a"));
  two.output(1, Buffer.from("b"));
  expect(events.slice(2)).toEqual([
    ["r", "80x20"],
    ["m", "exec 1 goes on"],
    ["r", "100x30"],
    ["o", "a"],
    ["m", "exec 2 goes on"],
    ["r", "80x20"],
    ["o", "b"],
  ]);
});

test("a bound that is just reached is no cut", () => {
  const { events, recorder } = recorded();
  const one = recorder.begin(exec(1, true));
  for (let each = 0; each < 16; each += 1) one.output(1, Buffer.alloc(65_536, "a"));
  expect(events.filter(([code]) => code === "m")).toHaveLength(1);
  for (let each = 0; each < 3; each += 1) one.output(1, Buffer.from("b"));
  expect(events.slice(17)).toEqual([["m", "exec 1 is recorded no further: 1048576 bytes without input"]]);
});

test("property: by the markers alone each exec's output is found whole, however they take turns", () => {
  const turn = fc.record({ at: fc.nat({ max: 3 }), bytes: fc.uint8Array({ maxLength: 6 }), isEnd: fc.boolean() });
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 60 }), (turns) => {
      const { events, recorder } = recorded();
      const running = new Map<number, { readonly id: number; readonly recorder: ExecRecorder }>();
      const said = new Map<number, Buffer[]>();
      let next = 1;
      for (const { at, bytes, isEnd } of turns) {
        const each = running.get(at) ?? { id: next, recorder: recorder.begin(exec(next)) };
        if (each.id === next) next += 1;
        running.set(at, each);
        said.set(each.id, [...(said.get(each.id) ?? []), Buffer.from(bytes)]);
        each.recorder.output(1, Buffer.from(bytes));
        if (isEnd) {
          each.recorder.end(undefined);
          running.delete(at);
        }
      }
      for (const { recorder: left } of running.values()) left.end(0);
      const found = new Map<number, string>();
      let named = 0;
      for (const [code, data] of events) {
        if (code === "m") named = Number(/^exec (\d+) /.exec(data)?.[1]);
        else found.set(named, `${found.get(named) ?? ""}${data}`);
      }
      for (const [id, parts] of said) expect(found.get(id) ?? "").toBe(Buffer.concat(parts).toString("utf8"));
    }),
  );
});
