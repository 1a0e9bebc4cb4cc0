declare const asStored: unique symbol;

/**
 * A stored value that is, or may contain, errors: a column, a manager's state, an event. The type cannot be serialised
 * directly. Routes call `shown`, which replaces internal errors for callers other than managers and workspace admins.
 */
export interface Kept<T> {
  readonly [asStored]: T;
}
