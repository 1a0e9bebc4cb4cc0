import { int, string } from "./field-types.ts";
import { field, type Message, message, type Type } from "./projection.ts";
import { BYTES, DecodeError } from "./protobuf.ts";

/** A repeated message of which one bit is kept: whether any of them passes `test`. */
export function some<T>(element: Message<T>, test: (value: T) => boolean): Type<boolean> {
  return {
    wire: BYTES,
    repeated: true,
    absent: false,
    read: (input, end, into) => test(element.read(input, end, undefined)) || into === true,
    fromJson(value, strings) {
      if (!Array.isArray(value)) throw new DecodeError("not a list");
      return value.some((each) => test(element.fromJson(each, strings)));
    },
  };
}

/** A repeated message of which one value is kept: `step` over all of them, in their order, from `start` on. */
export function folded<T, R>(element: Message<T>, start: R, step: (before: R, each: T) => R): Type<R> {
  return {
    wire: BYTES,
    repeated: true,
    absent: start,
    read: (input, end, into) => step(into ?? start, element.read(input, end, undefined)),
    fromJson(value, strings) {
      if (!Array.isArray(value)) throw new DecodeError("not a list");
      return value.reduce<R>((before, each) => step(before, element.fromJson(each, strings)), start);
    },
  };
}

/** A message of which only its presence is kept: its bytes are skipped unread. */
export const present: Type<boolean> = {
  wire: BYTES,
  absent: false,
  read(input, end) {
    input.pos = end;
    return true;
  },
  fromJson: () => true,
};

const intOrStringShape = message({ type: field(1, int), intVal: field(2, int), strVal: field(3, string) });

/** `util/intstr.IntOrString`, as text: `"2"` or `"50%"`. `""` when unset. */
export const intOrString: Type<string> = {
  wire: BYTES,
  absent: "",
  read(input, end) {
    const { type, intVal, strVal } = intOrStringShape.read(input, end, undefined);
    return type === 1 ? strVal : String(intVal);
  },
  fromJson(value) {
    if (typeof value === "number" || typeof value === "string") return String(value);
    throw new DecodeError("neither a number nor a string");
  },
};
