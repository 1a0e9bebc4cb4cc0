import Type, { type Static } from "typebox";
import { STORED_ERROR_CODE } from "./errors.ts";
import { Bounded, DOCUMENT_BYTES, FreeMap, Maybe, SMALL_DOCUMENT_BYTES, Strict } from "./schema.ts";

/**
 * An error that a record carries: reported by a manager, or written by the platform (§0.4). Reports may leave out all
 * but `code`, `message` and `internal`; reads carry every field but `requestId`, which only a response's error has.
 */
export const StoredError = Bounded(
  DOCUMENT_BYTES,
  Strict({
    code: Type.String({ maxLength: 128, pattern: STORED_ERROR_CODE }),
    message: Type.String({ maxLength: 16_384 }),
    internal: Type.Boolean({
      description: "True: the detail is for operators only and is replaced on reads by others.",
    }),
    retryable: Type.Optional(Type.Boolean({ default: false })),
    source: Maybe(Bounded(SMALL_DOCUMENT_BYTES, FreeMap)),
    context: Maybe(Bounded(SMALL_DOCUMENT_BYTES, FreeMap)),
    hint: Maybe(Type.String({ maxLength: 16_384 })),
    httpStatusCode: Maybe(Type.Integer({ minimum: 100, maximum: 599 })),
    requestId: Type.Optional(Type.String({ maxLength: 128 })),
  }),
);
export type StoredError = Static<typeof StoredError>;
