/**
 * The answer as an agent gets it: the text that goes into its prompt, to read and to copy.
 */
import { counted } from "./format.tsx";
import { CopyButton, RawText } from "./ui.tsx";

/** The text. */
export function PromptText({ text, tokens }: { readonly text: string; readonly tokens: number }) {
  return (
    <section className="prompt">
      <header className="prompt-head">
        <h2>
          What the agent reads <span className="about">{counted(tokens, "token")}</span>
        </h2>
        {text !== "" && <CopyButton text={text} label="Copy the text" />}
      </header>
      {text === "" ? (
        <p className="about">Nothing: the prompt stays as it is.</p>
      ) : (
        <RawText text={text} label="The text for the prompt" />
      )}
    </section>
  );
}
