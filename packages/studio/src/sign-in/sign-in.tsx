/**
 * The door: where the server has a token, the person gives it, or a scope that was handed to them. It is
 * kept by this tab until it is closed.
 */
import { type FormEvent, useId, useState } from "react";
import { isScopeKey, readHolder, setHolder, setKey, useKey } from "../base/session.ts";

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
