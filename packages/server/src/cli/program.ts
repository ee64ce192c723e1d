/**
 * The command line, rendered from the table of operations: commands, arguments, flags and help. It
 * parses and describes; carrying a command out is left to the `Runner` it is given.
 */
import { Argument, Command, Option } from "commander";
import {
  PROFILES,
  type Profile,
  SERVE_SETTINGS,
  SETTINGS,
  type ServeSettingName,
  type ServeSettingSpec,
} from "../config.js";
import { type ArgumentSpec, GROUPS, type Operation } from "../operations/define.js";
import { type Field, fieldsOf } from "../operations/text-input.js";
import { CLIENTS, type ClientName } from "./clients.js";
import { completionScript, SHELLS, type Shell } from "./completion.js";
import { flagFields, placeholder } from "./input.js";
import { EVERY_COMMAND, type ProgramOutput, prepare, rootCommand } from "./root.js";

/** The flags that every command takes. */
export interface GlobalFlags {
  readonly data?: string;
  readonly actor?: string;
  readonly json?: boolean;
}

/** What was written on the command line, not yet read. */
export interface RawCommand {
  /** Positional arguments, in order; the last may take many words. */
  readonly args: readonly (string | readonly string[] | undefined)[];
  /** Flags by their name without dashes. */
  readonly flags: ReadonlyMap<string, unknown>;
  readonly globals: GlobalFlags;
}

/** What to print for which client. */
export interface ConfigRequest {
  readonly client: ClientName;
  readonly profile: Profile;
  /** Through npx instead of by path. */
  readonly npx: boolean;
}

/** What an agent is served. */
export interface McpFlags {
  readonly profile: Profile;
  /** The file of memgraph that is imported once; for its own profile alone. */
  readonly sqlite?: string;
}

/** Carries commands out. */
export interface Runner {
  /** `operations` share the command; the flags say which one is meant. */
  operation(operations: readonly Operation[], raw: RawCommand): Promise<void>;
  demo(globals: GlobalFlags): Promise<void>;
  /** `size` as it was written. */
  bench(globals: GlobalFlags, size: string | undefined): Promise<void>;
  mcp(globals: GlobalFlags, flags: McpFlags): Promise<void>;
  mcpConfig(globals: GlobalFlags, what: ConfigRequest): Promise<void>;
  serve(globals: GlobalFlags, flags: ServeFlags): Promise<void>;
}

/** Builds the program. It never ends the process: it throws commander's own errors instead. */
export function buildProgram(
  operations: readonly Operation[],
  runner: Runner,
  output: ProgramOutput,
): Command {
  const program = rootCommand(output);
  addGlobalFlags(program);
  for (const [words, shared] of commandsOf(operations)) {
    const parent = parentOf(program, words, shared, output);
    parent.addCommand(operationCommand(words, shared, runner, output));
  }
  program.addCommand(serveCommand(runner, output));
  program.addCommand(mcpCommand(runner, output));
  program.addCommand(demoCommand(runner, output));
  program.addCommand(benchCommand(runner, output));
  program.addCommand(completionCommand(program, output));
  return program;
}

/** The operations by command, aliases included, in the order of the table. */
export function commandsOf(
  operations: readonly Operation[],
): ReadonlyMap<string, readonly Operation[]> {
  const commands = new Map<string, Operation[]>();
  for (const operation of operations) {
    for (const words of [operation.cli.command, operation.cli.alias]) {
      if (words === undefined) continue;
      commands.set(words, [...(commands.get(words) ?? []), operation]);
    }
  }
  return commands;
}

function addGlobalFlags(command: Command): void {
  command
    .addOption(
      new Option("--data <DIR|URL>", SETTINGS.data.meaning.replaceAll("`", "")).helpGroup(
        EVERY_COMMAND,
      ),
    )
    .addOption(
      new Option("--actor <NAME>", `${SETTINGS.actor.meaning}; default when not given`).helpGroup(
        EVERY_COMMAND,
      ),
    )
    .addOption(
      new Option("--json", "print one JSON document, for scripts").helpGroup(EVERY_COMMAND),
    );
}

/** What the commands of two words are for, by the first. */
const GROUP_COMMANDS: { readonly [group: string]: string } = {
  edge: "Add, remove, read and list single links between memories",
  goal: "Keep how a goal is going beside the goal: set, read, clear and list",
  graph: "Make, list, configure and look after the graphs of a folder",
  review: "Decide between memories that contradict, rival or repeat each other",
  scope: "Give others a part of a graph to read or write, and take it back",
};

/** The group command that `edge add` stands under; the program itself for one word. */
function parentOf(
  program: Command,
  words: string,
  shared: readonly Operation[],
  output: ProgramOutput,
): Command {
  const [group, second] = words.split(" ");
  if (group === undefined || second === undefined) return program;
  const known = program.commands.find((command) => command.name() === group);
  if (known !== undefined) return known;
  const heading = shared[0] === undefined ? "" : GROUPS[shared[0].cli.group];
  const created = new Command(group)
    .description(GROUP_COMMANDS[group] ?? `${heading}, one by one`)
    .helpGroup(`${heading}:`)
    .helpCommand(false)
    .enablePositionalOptions();
  prepare(created, output);
  addGlobalFlags(created);
  program.addCommand(created);
  return created;
}

function operationCommand(
  words: string,
  shared: readonly Operation[],
  runner: Runner,
  output: ProgramOutput,
): Command {
  const [first] = shared;
  if (first === undefined) throw new Error(`the command ${words} has no operation`);
  const command = new Command(words.split(" ").at(-1) ?? words)
    .summary(summaryOf(shared))
    .description(
      shared
        .map(({ summary, help }) => `${summary}.\n\n${help.replaceAll("\n", " ")}`)
        .join("\n\n"),
    )
    .helpGroup(`${GROUPS[first.cli.group]}:`);
  prepare(command, output);
  for (const argument of argumentsOf(shared)) command.addArgument(argument);
  const flags = new Map<string, Field>();
  for (const field of shared.flatMap(flagFields)) {
    if (!flags.has(field.flag)) flags.set(field.flag, field);
  }
  for (const field of flags.values()) command.addOption(flagOption(field));
  for (const { cli } of shared) {
    if (cli.assign !== undefined) command.addOption(assignOption(cli.assign));
    if (cli.whenMeans !== undefined) command.addOption(new Option(`--${cli.when}`, cli.whenMeans));
  }
  addGlobalFlags(command);
  const examples = [...new Set(shared.map(({ example }) => `  $ ${example}`))].join("\n");
  command.addHelpText("after", `\nExample:\n${examples}`);
  return command.action(async () => {
    await runner.operation(shared, {
      args: command.processedArgs as RawCommand["args"],
      flags: new Map(
        command.options
          .map((option) => [option.long ?? "", option] as const)
          .flatMap(([long, option]) => {
            const value: unknown = command.getOptionValue(option.attributeName());
            const isDefault = command.getOptionValueSource(option.attributeName()) !== "cli";
            return isDefault || value === undefined ? [] : [[long.replace(/^--(no-)?/, ""), value]];
          }),
      ),
      globals: globalsOf(command),
    });
  });
}

/** One line for a command; backup files and files of other programs mean something else, so both are said. */
function summaryOf(shared: readonly Operation[]): string {
  const said = shared.filter(
    ({ cli }, at) => at === 0 || cli.whenBackups === true || cli.whenTranscript === true,
  );
  return said
    .map(({ summary }, at) => (at === 0 ? summary : summary[0]?.toLowerCase() + summary.slice(1)))
    .join("; ");
}

function argumentsOf(shared: readonly Operation[]): readonly Argument[] {
  const [first] = shared;
  // A command that another operation shares may be meant without any of the arguments.
  const loose = shared.some(({ cli }) => cli.when !== undefined);
  const backups = shared.find(({ cli }) => cli.whenBackups === true);
  return (first?.cli.arguments ?? []).map((one, at) => {
    const optional = loose || "body" in one || one.optional === true;
    // Backup files stand in the same place as what the command takes otherwise.
    const other = backups?.cli.arguments?.[at];
    const both = [aboutArgument(first, one), aboutArgument(backups, other)];
    const about = both.filter((text) => text !== "").join("; or ");
    const label = other === undefined ? one.label : `${one.label}|${other.label}`;
    const rest = takesMany(one) || (other !== undefined && takesMany(other)) ? "..." : "";
    return new Argument(optional ? `[${label}${rest}]` : `<${label}${rest}>`, about);
  });
}

function takesMany(one: ArgumentSpec): boolean {
  return "rest" in one || one.words === true;
}

function aboutArgument(operation: Operation | undefined, one: ArgumentSpec | undefined): string {
  if (operation === undefined || one === undefined) return "";
  if ("body" in one)
    return one.file === true ? "a file; - or nothing reads stdin" : "- reads stdin";
  return fieldsOf(operation).find(({ name }) => name === one.field)?.about ?? "";
}

function flagOption(field: Field): Option {
  if (field.syntax === "switch") {
    const name = field.sets ? field.flag : `no-${field.flag}`;
    return new Option(`--${name}`, field.about);
  }
  const words =
    field.choices.length === 0 || field.about.includes(field.choices.join(", "))
      ? ""
      : ` (${field.choices.join(", ")})`;
  const option = new Option(`--${field.flag} <${placeholder(field)}>`, `${field.about}${words}`);
  const isMany = field.syntax === "list" || field.syntax === "pairs";
  return isMany ? option.argParser(collect) : option;
}

function assignOption(flag: string): Option {
  return new Option(`--${flag} <KEY=VALUE>`, "change one key; may be repeated").argParser(collect);
}

function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** The global flags of a command; what stands nearest to the end of the line wins. */
function globalsOf(command: Command): GlobalFlags {
  const chain: Command[] = [];
  for (let one: Command | null = command; one !== null; one = one.parent) chain.push(one);
  const values = chain.reverse().map((one) => one.opts<GlobalFlags>());
  const { data, actor, json } = Object.assign({}, ...values) as GlobalFlags;
  return {
    ...(data === undefined ? {} : { data }),
    ...(actor === undefined ? {} : { actor }),
    ...(json === undefined ? {} : { json }),
  };
}

/** What help says of a command that is no operation. */
interface About {
  readonly summary: string;
  readonly description: string;
  /** A shell line that works. */
  readonly example: string;
}

/** A command that is no operation, without its flags. */
function ownCommand(name: string, about: About, output: ProgramOutput): Command {
  const command = new Command(name)
    .summary(about.summary)
    .description(about.description)
    .helpGroup(`${GROUPS.store}:`)
    .addHelpText("after", `\nExample:\n  $ ${about.example}`);
  prepare(command, output);
  return command;
}

/** Flags by the names of the settings they give. */
type ServeFlags = { readonly [name in ServeSettingName]?: string };

function serveCommand(runner: Runner, output: ProgramOutput): Command {
  const about = {
    summary: "Serve every store of a folder over HTTP",
    description:
      "REST for every operation with its OpenAPI document, MCP, a page that says where all is, health and " +
      "metrics, until Ctrl-C.\n" +
      "Without a token it listens on a loopback address only. CORTEX_TOKEN holds the token.",
    example: "cortex serve --port 7777",
  };
  const command = ownCommand("serve", about, output);
  const specs = Object.entries<ServeSettingSpec>(SERVE_SETTINGS).filter(
    ([, one]) => one.flag !== "",
  );
  for (const [, spec] of specs) command.addOption(serveOption(spec));
  addGlobalFlags(command);
  return command.action(async () => {
    const given = specs.flatMap(([name, { flag }]) => {
      const value: unknown = command.getOptionValue(new Option(`${flag} <VALUE>`).attributeName());
      return typeof value === "string" ? [[name, value]] : [];
    });
    await runner.serve(globalsOf(command), Object.fromEntries(given) as ServeFlags);
  });
}

function serveOption({ flag, meaning, standard, compat, isMany }: ServeSettingSpec): Option {
  const under =
    compat?.standard === undefined ? "" : `, ${compat.standard} under --compat memgraph`;
  const otherwise = standard === "" ? "" : `; ${standard} when not given${under}`;
  const option = new Option(`${flag} <VALUE>`, `${meaning}${otherwise}`);
  if (isMany !== true) return option;
  return option.argParser((value: string, before: string | undefined) =>
    before === undefined ? value : `${before},${value}`,
  );
}

function demoCommand(runner: Runner, output: ProgramOutput): Command {
  const about = {
    summary: "Show what it does, on a small graph of its own",
    description:
      "Builds a small graph, asks it a question, proves it, forgets a part, vacuums, builds it again, " +
      "reads the past and checks everything.\n" +
      "Works in a temporary folder that it removes, unless --data names a store to keep.",
    example: "cortex demo",
  };
  const command = ownCommand("demo", about, output);
  addGlobalFlags(command);
  return command.action(async () => {
    await runner.demo(globalsOf(command));
  });
}

/** Memories of a bench when nobody says otherwise: done within seconds. */
export const BENCH_SIZE = 5000;

function benchCommand(runner: Runner, output: ProgramOutput): Command {
  const about = {
    summary: "Measure this machine: writes, reads and searches in a store of its own",
    description:
      "Writes made-up memories one by one, many at once and in batches, every write waiting for the " +
      "disk, then reads, searches and recalls, and prints what each took.\n" +
      "Works in a temporary folder that it removes; TMPDIR says where.",
    example: "cortex bench --size 20000",
  };
  const command = ownCommand("bench", about, output);
  command.option("--size <N>", `memories to write; ${BENCH_SIZE} when not given`);
  addGlobalFlags(command);
  return command.action(async () => {
    await runner.bench(globalsOf(command), command.opts<{ readonly size?: string }>().size);
  });
}

function completionCommand(program: Command, output: ProgramOutput): Command {
  const about = {
    summary: "Print a script that completes commands in your shell",
    description:
      "For bash: source it from ~/.bashrc; for zsh from ~/.zshrc; for fish keep it in " +
      "~/.config/fish/completions/cortex.fish.",
    example: "source <(cortex completion bash)",
  };
  const command = ownCommand("completion", about, output);
  command.addArgument(new Argument("SHELL", "which shell").choices(SHELLS).argRequired());
  addGlobalFlags(command);
  return command.action(() => {
    output.out(completionScript(command.processedArgs[0] as Shell, program));
  });
}

function profileOption(): Option {
  return new Option("--profile <WORD>", "which tools to show")
    .choices(PROFILES)
    .default("standard");
}

function mcpCommand(runner: Runner, output: ProgramOutput): Command {
  const about = {
    summary: "Serve the store to an agent: MCP over stdin and stdout",
    description:
      "Speaks the Model Context Protocol on stdin and stdout until stdin ends. Makes the store if " +
      "there is none.\nThe profile standard shows the tools an agent needs, full every operation, " +
      "memgraph the fifteen tools of memgraph.",
    example: "cortex mcp config claude",
  };
  const command = ownCommand("mcp", about, output);
  command.helpCommand(false).enablePositionalOptions().addOption(profileOption());
  const sqlite = "with --profile memgraph: its file, imported once into the data folder";
  command.option("--sqlite <FILE>", sqlite);
  addGlobalFlags(command);
  command.action(async () => {
    const { profile, sqlite: file } = command.opts<McpFlags>();
    const flags = file === undefined ? { profile } : { profile, sqlite: file };
    await runner.mcp(globalsOf(command), flags);
  });
  return command.addCommand(mcpConfigCommand(runner, output));
}

function mcpConfigCommand(runner: Runner, output: ProgramOutput): Command {
  const names = Object.keys(CLIENTS);
  const command = new Command("config")
    .summary("Print what to paste into a client")
    .description("Prints the block that makes a client start this server, with absolute paths.")
    .addArgument(new Argument("<CLIENT>", "which client").choices(names))
    .addOption(profileOption())
    .option("--npx", "start it through npx instead of by path")
    .addHelpText("after", "\nExample:\n  $ cortex mcp config vscode --actor ada");
  prepare(command, output);
  addGlobalFlags(command);
  return command.action(async (client: ClientName) => {
    const { profile, npx = false } = command.opts<
      Pick<ConfigRequest, "profile"> & { npx?: boolean }
    >();
    await runner.mcpConfig(globalsOf(command), { client, profile, npx });
  });
}
