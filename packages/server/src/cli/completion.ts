/**
 * Scripts that complete `cortex` commands in a shell, made from the program itself, so that a new
 * command or flag needs no line here.
 *
 * Promise: a script is plain text to be sourced; it knows words and flags, never what a store holds, so
 * pressing a key reads nothing and waits for nothing. Files are completed where no word fits.
 */
import type { Command } from "commander";

/** The shells there are scripts for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** One of them. */
export type Shell = (typeof SHELLS)[number];

/** A command with what may stand behind it. */
interface Known {
  /** Its words, such as `edge add`; empty for the program. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly flags: readonly { readonly flag: string; readonly summary: string }[];
}

/** The script of a shell. */
export function completionScript(shell: Shell, program: Command): string {
  const known = commandsOf(program, []);
  switch (shell) {
    case "bash":
      return bashScript(known);
    case "zsh":
      return `autoload -U +X bashcompinit && bashcompinit\n${bashScript(known)}`;
    case "fish":
      return fishScript(known);
  }
}

function commandsOf(command: Command, path: readonly string[]): readonly Known[] {
  const children = command.commands.filter((one) => one.name() !== "help");
  const here: Known = {
    path: path.join(" "),
    commands: children.map((one) => ({ name: one.name(), summary: one.summary() })),
    flags: [...command.options, { long: "--help", description: "explain" }].flatMap(
      ({ long, description }) => (long == null ? [] : [{ flag: long, summary: description }]),
    ),
  };
  return [here, ...children.flatMap((one) => commandsOf(one, [...path, one.name()]))];
}

function bashScript(known: readonly Known[]): string {
  const cases = known.map(({ path, commands, flags }) => {
    const words = [...commands.map(({ name }) => name), ...flags.map(({ flag }) => flag)];
    return `    "${path}") words="${words.join(" ")}" ;;`;
  });
  const paths = known.map(({ path }) => `"${path}"`).join("|");
  return `_cortex() {
  local path="" next words word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) continue ;; esac
    next="\${path:+$path }$word"
    case "$next" in ${paths}) path="$next" ;; esac
  done
  case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _cortex cortex
`;
}

function fishScript(known: readonly Known[]): string {
  const quoted = (text: string): string =>
    `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", " ")}'`;
  const lines = known.flatMap(({ path, commands, flags }) => {
    const [group, second] = path.split(" ");
    const seen = [group, second].filter((word) => word !== undefined && word !== "");
    const when =
      seen.length === 0
        ? "__fish_use_subcommand"
        : seen.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    return [
      ...commands.map(
        ({ name, summary }) =>
          `complete -c cortex -n ${quoted(when)} -a ${name} -d ${quoted(summary)}`,
      ),
      ...flags.map(
        ({ flag, summary }) =>
          `complete -c cortex -n ${quoted(when)} -l ${flag.slice(2)} -d ${quoted(summary)}`,
      ),
    ];
  });
  return `${lines.join("\n")}\n`;
}
