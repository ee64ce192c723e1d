/**
 * Who is asking: the token or the scope that the person gave at the door, kept by this tab alone and until it
 * is closed. It goes into the header of requests and nowhere else: not into addresses, not into what the
 * browser keeps for good, not into messages.
 */
import { type FormEvent, useId, useState, useSyncExternalStore } from "react";

const NAME = "cortex.key";

const listeners = new Set<() => void>();

/** What was given; `undefined` before anybody signed in. */
export function currentKey(): string | undefined {
  return window.sessionStorage.getItem(NAME) ?? undefined;
}

/** Keeps what was given; `undefined` signs out. */
export function setKey(key: string | undefined): void {
  if (key === undefined) {
    window.sessionStorage.removeItem(NAME);
    setHolder(undefined);
  } else window.sessionStorage.setItem(NAME, key);
  for (const listener of [...listeners]) listener();
}

/** The key that a scope is bound to, as `cortex keygen` writes it. */
export interface HolderKey {
  /** 32 bytes in base64. */
  readonly publicKey: string;
  readonly seed: string;
}

const HOLDER = "cortex.holder";

/** The key of the holder, if one was given with the scope; kept like the scope. */
export function currentHolder(): HolderKey | undefined {
  const kept = window.sessionStorage.getItem(HOLDER);
  return kept === null ? undefined : readHolder(kept);
}

/** Keeps the key of the holder; `undefined` takes it away. */
export function setHolder(holder: HolderKey | undefined): void {
  if (holder === undefined) window.sessionStorage.removeItem(HOLDER);
  else window.sessionStorage.setItem(HOLDER, JSON.stringify(holder));
}

/** Reads the text of a key file; `undefined` when it is none. */
export function readHolder(text: string): HolderKey | undefined {
  try {
    const { publicKey, seed } = JSON.parse(text) as Partial<HolderKey>;
    const isKey = (value: unknown): value is string =>
      typeof value === "string" && /^[A-Za-z0-9+/]{43}=$/.test(value);
    return isKey(publicKey) && isKey(seed) ? { publicKey, seed } : undefined;
  } catch {
    // What is no JSON is no key file; the form says so.
    return undefined;
  }
}

/** What comes before 32 bytes of Ed25519 where browsers read keys (PKCS #8, RFC 8410). */
const PKCS8 = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];

/** Signs requests with the key of a holder; the browser does the arithmetic. */
export function signerFor({ publicKey, seed }: HolderKey) {
  let key: Promise<CryptoKey> | undefined;
  return {
    publicKey: bytesOf(publicKey),
    sign: async (message: Uint8Array): Promise<Uint8Array> => {
      const { subtle } = window.crypto;
      const secret = new Uint8Array([...PKCS8, ...bytesOf(seed)]);
      key ??= subtle.importKey("pkcs8", secret, "Ed25519", false, ["sign"]);
      return new Uint8Array(await subtle.sign("Ed25519", await key, new Uint8Array(message)));
    },
  };
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
}

/** Whether a key is a scope or the handle of one, and not the owner's token. */
export function isScopeKey(key: string | undefined): boolean {
  return key !== undefined && /^cortex-(scope|handle)-/.test(key);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The key, for components. */
export function useKey(): string | undefined {
  return useSyncExternalStore(subscribe, currentKey);
}

/** The public half of the holder's key, for components. */
export function useHolderName(): string | undefined {
  return useSyncExternalStore(subscribe, () => currentHolder()?.publicKey);
}

/** The form. */
export function SignIn() {
  const key = useKey();
  const [typed, setTyped] = useState("");
  const [holder, setHolderText] = useState("");
  const id = useId();
  const isScope = isScopeKey(typed.trim());
  const isBadHolder = holder !== "" && readHolder(holder) === undefined;
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    const given = typed.trim();
    if (given === "" || isBadHolder) return;
    setHolder(isScope ? readHolder(holder) : undefined);
    setKey(given);
  };
  return (
    <form className="sign-in" onSubmit={onSubmit}>
      <h1>Sign in</h1>
      <p>
        This memory is guarded. Give the server's token to see and change everything, or a scope
        that its owner handed to you to see the part it grants.
      </p>
      <label htmlFor={id}>Token or scope</label>
      <input
        id={id}
        type="password"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      {isScope && (
        <label className="file-choice">
          If the scope is bound to a key, the file that <code>cortex keygen</code> made{" "}
          <input
            type="file"
            onChange={async (event) => setHolderText((await event.target.files?.[0]?.text()) ?? "")}
          />
        </label>
      )}
      {isBadHolder && (
        <p className="failure" role="alert">
          This is not a key file.
        </p>
      )}
      {key !== undefined && (
        <p className="failure" role="alert">
          The server did not accept this token or scope
          {isScopeKey(key) && ". If it is bound to a key, choose the key file as well"}.
        </p>
      )}
      <button type="submit" className="primary">
        Sign in
      </button>
      <p className="about">
        It stays in this tab until you close it, and is sent to this server only. The owner of the
        machine finds the token where the server was started: in <code>CORTEX_TOKEN</code>, or in
        the file that <code>CORTEX_TOKEN_FILE</code> names.
      </p>
    </form>
  );
}
