/**
 * The routes of the server itself, beside the verbs of a memory: which graphs there are, what it counts,
 * what was slow. Documented in `docs/rest.md` and `docs/operating.md`, and for the owner alone.
 */
import { CortexError, isCortexError } from "@cortex-memory/core/remote";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { currentKey } from "./session.ts";
import { useStudio } from "./studio.tsx";

/** How often what a server counts is read again while somebody looks at it. */
const AGAIN_MS = 10_000;

/** Asks for one path; a refusal is thrown as the client of a memory throws it. */
export async function askServer(
  path: string,
  init: { readonly method?: string; readonly body?: object } = {},
): Promise<Response> {
  const key = currentKey();
  const { method = "GET", body } = init;
  const response = await fetch(path, {
    method,
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new CortexError("ERR_STORAGE", "the server cannot be reached");
  });
  if (response.ok) return response;
  throw await failureOf(response);
}

async function failureOf(response: Response): Promise<CortexError> {
  try {
    const { code, detail } = (await response.json()) as { code?: string; detail?: string };
    const error = new CortexError(code as "ERR_STORAGE", detail ?? response.statusText);
    if (isCortexError(error)) return error;
  } catch {
    // An answer that is no problem document says nothing more than its status.
  }
  return new CortexError("ERR_STORAGE", `the server answered ${response.status}`);
}

/** Reads something of the server; two components that ask the same share one answer. */
export function useServer<T>(
  path: string,
  read: (response: Response) => Promise<T>,
  { isLive = false }: { readonly isLive?: boolean } = {},
): UseQueryResult<T> {
  const { isOwner } = useStudio();
  return useQuery<T>({
    queryKey: ["server", path],
    queryFn: async () => read(await askServer(path)),
    enabled: isOwner,
    staleTime: isLive ? 0 : 30_000,
    ...(isLive ? { refetchInterval: AGAIN_MS } : {}),
  });
}
