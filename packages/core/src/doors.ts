/**
 * The public surface of `@cortex-memory/core/doors`: what somebody needs who puts a door in front of stores, as
 * `cortex serve` and `cortex mcp` do, and nobody else: who speaks through it, whose scope a request carries, which
 * stores are damaged.
 */

export { HUB_POLICIES } from "./hub/context.js";
export { examineStore, quarantinedStores } from "./open.js";
export { checkActorName } from "./records/uri.js";
export { type SignedBy, verifyRequest } from "./scope/request-signature.js";
export { holderOf, isScopeText, parseHandle } from "./scope/scope.js";
export { DOORS, type DoorName, type FixedDoor, loweredTo, throughDoor } from "./trust/doors.js";
