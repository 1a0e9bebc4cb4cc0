declare const asStored: unique symbol;

/**
 * What a record keeps that is, or may hold, errors: a column, a manager's state, an event. A type that cannot be serialised
 * directly. Routes call `shown`, which replaces internal errors for callers other than managers and workspace admins.
 */
export interface Kept<T> {
  readonly [asStored]: T;
}
