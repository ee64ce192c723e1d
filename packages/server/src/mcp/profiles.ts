/** The profiles of the MCP door: how many tools a client is shown. */

/** `standard` is what an agent needs; `full` adds every other operation. */
export const PROFILES = ["standard", "full"] as const;

/** Which tools a server shows. */
export type Profile = (typeof PROFILES)[number];
