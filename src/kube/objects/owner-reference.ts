import type { KubeObject, OwnerReference } from "./resource.ts";

/** Another controller owns the object: two of them would undo each other's work for ever. */
export class AlreadyOwnedError extends Error {
  override readonly name = "AlreadyOwnedError";
  readonly owner: OwnerReference;

  constructor(owned: KubeObject, owner: OwnerReference) {
    super(`${owned.kind} ${owned.metadata.name} is controlled by ${owner.kind} ${owner.name}`);
    this.owner = owner;
  }
}

/**
 * Makes `owner` the controller of what carries the reference: garbage-collected with it, found by `owns`.
 * The owner must be cluster-scoped or in the same namespace; the garbage collector deletes the child otherwise.
 */
export function ownerReference(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true };
}

/** The reference with `controller: true`; the API server admits one. */
export function controllerOf(object: Pick<KubeObject, "metadata">): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

/**
 * Call before applying over an `existing` object that only its name says is ours.
 *
 * @throws AlreadyOwnedError when it has another controller. The same name with another uid is another one: an owner
 * that was deleted and created again.
 */
export function assertControllable(existing: KubeObject, owner: KubeObject): void {
  const controller = controllerOf(existing);
  if (controller && controller.uid !== owner.metadata.uid) throw new AlreadyOwnedError(existing, controller);
}
