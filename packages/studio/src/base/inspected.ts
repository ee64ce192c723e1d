/**
 * Everything about one memory, as `inspect` answers: what the panel shows and what dialogs start from.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";

/** What `inspect` answers. */
export type Inspected = NonNullable<Awaited<ReturnType<RemoteCortex["inspect"]>>>;
