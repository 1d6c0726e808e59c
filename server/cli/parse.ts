import { parseArgs } from 'node:util';
import {
  type CommandBase,
  CommandError,
  type CommandValues,
  type Option,
  type OptionSet,
  type Values,
} from './command.ts';

export interface Line<Known extends CommandBase> extends CommandValues<OptionSet> {
  readonly kind: 'command';
  readonly command: Known;
  readonly json: boolean;
  /** True if progress is hidden. */
  readonly quiet: boolean;
}

interface HelpRequest {
  readonly kind: 'help';
  readonly text: string;
}

const COMMON = {
  json: { type: 'boolean' },
  quiet: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const GENERATED_ID = /^-[A-Za-z0-9_-]{21}$/;

/** Rewrites arguments for `parseArgs`: a switch without a value is true, and an id or a value may begin with a dash. */
function normalizeArguments(args: readonly string[], options: OptionSet): string[] {
  const full: string[] = [];
  const ids: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const [arg = '', next = ''] = args.slice(at, at + 2);
    const kind = arg.startsWith('--') ? options[arg.slice(2)]?.kind : undefined;
    if (kind === 'switch') {
      full.push(`${arg}=true`);
    } else if (kind !== undefined && kind !== 'flag' && /^-[^-]/.test(next)) {
      full.push(`${arg}=${next}`);
      at += 1;
    } else if (GENERATED_ID.test(arg) && kind === undefined && !(arg.slice(2) in COMMON)) {
      ids.push(arg);
    } else {
      full.push(arg);
    }
  }
  return ids.length === 0 ? full : [...full, '--', ...ids];
}

/** The second names of options, with their options. */
function othersOf(options: OptionSet): readonly (readonly [other: string, name: string, option: Option])[] {
  return Object.entries(options).flatMap(([name, option]) =>
    'other' in option && option.other !== undefined ? [[option.other, name, option] as const] : [],
  );
}

/** The values with those of second names under the first; rejects two different ones. */
function joinOthers(values: Readonly<Record<string, unknown>>, options: OptionSet): Record<string, unknown> {
  const joined = { ...values };
  for (const [other, name] of othersOf(options)) {
    const value = values[other];
    if (value !== undefined && values[name] !== undefined && values[name] !== value) {
      throw new CommandError(`--${name} and --${other} have different values; give --${name} alone.`, 2);
    }
    if (value !== undefined) {
      joined[name] = value;
    }
  }
  return joined;
}

/** Parses the options; the message of an error is its first sentence. */
function parse(args: readonly string[], options: OptionSet) {
  const others = Object.fromEntries(othersOf(options).map(([other, , option]) => [other, option]));
  const all = { ...options, ...others };
  const full = normalizeArguments(args, all);
  const own = Object.fromEntries(
    Object.entries(all).map(([name, { kind }]) => [
      name,
      { type: kind === 'flag' ? 'boolean' : 'string', multiple: kind === 'list' } as const,
    ]),
  );
  try {
    return parseArgs({ args: full, options: { ...own, ...COMMON }, allowPositionals: true, strict: true });
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : '';
    throw new CommandError(reason.replace(/\. .*$/, '.'), 2);
  }
}

/** The value of an option in its type; rejects an invalid one. */
function readValue(name: string, option: Option, value: unknown): unknown {
  if (option.kind === 'switch') {
    if (value !== 'true' && value !== 'false') {
      throw new CommandError(`--${name} must be true or false.`, 2);
    }
    return value === 'true';
  }
  if (option.kind === 'number') {
    const { minimum, maximum } = option;
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= minimum && number <= maximum)) {
      throw new CommandError(`--${name} must be a whole number from ${minimum} to ${maximum}.`, 2);
    }
    return number;
  }
  return value;
}

/** Help for an incomplete command line, with the commands that begin like it; rejects any other. */
function readWithoutCommand(
  args: readonly string[],
  similar: readonly CommandBase[],
  wantsHelp: boolean,
): HelpRequest {
  if (similar.length > 0 && wantsHelp) {
    return { kind: 'help', text: overviewOf(similar) };
  }
  if (args[0]?.startsWith('-')) {
    throw new CommandError('The command must be before its options; see bun run vault --help.', 2);
  }
  if (args.length === 0 || similar.length > 0) {
    throw new CommandError(overviewOf(similar), 2);
  }
  throw new CommandError('Unknown command; see bun run vault --help.', 2);
}

/** Reads a command line for a table of commands; throws a CommandError with exit code 2 if it is invalid. */
export function readLine<Known extends CommandBase>(
  args: readonly string[],
  commands: readonly Known[],
): HelpRequest | Line<Known> {
  if (args[0] === 'help') {
    return readLine([...args.slice(1), '--help'], commands);
  }
  const firstOption = args.findIndex((arg) => arg.startsWith('-'));
  const words = firstOption < 0 ? args : args.slice(0, firstOption);
  const command = commands.find((known) => known.words.every((word, at) => words[at] === word));
  // Checked before the options, so that help works for invalid ones as well.
  const wantsHelp = args.includes('--help') || args.includes('-h');
  if (command === undefined) {
    const similar = commands.filter((known) => words.every((word, at) => known.words[at] === word));
    return readWithoutCommand(args, similar, wantsHelp);
  }
  if (wantsHelp) {
    return { kind: 'help', text: helpOf(command) };
  }
  const { values: parsed, positionals } = parse(args, command.options);
  const values = joinOthers(parsed, command.options);
  const extra = positionals.slice(command.words.length);
  if (extra.length !== (command.argument === undefined ? 0 : 1)) {
    throw new CommandError(`Usage: ${callOf(command)}`, 2);
  }
  const argument = extra[0] ?? '';
  const given = Object.entries(command.options).filter(([name]) => Object.hasOwn(values, name));
  const options = Object.fromEntries(
    given.map(([name, option]) => [name, readValue(name, option, Reflect.get(values, name))]),
  ) as Values<OptionSet>;
  command.check?.({ argument, options });
  return {
    ...{ kind: 'command', command, argument, options },
    json: values['json'] === true,
    quiet: values['quiet'] === true,
  };
}

/** A command line without options. */
function callOf({ words, argument }: CommandBase): string {
  return ['vault', ...words, ...(argument === undefined ? [] : [argument])].join(' ');
}

function written(name: string, option: Option): string {
  switch (option.kind) {
    case 'flag':
      return `--${name}`;
    case 'switch':
      return `--${name}[=true|false]`;
    default:
      return `--${name} ${option.value}`;
  }
}

function helpOf(command: CommandBase): string {
  const lines = [
    ...Object.entries(command.options).map(([name, option]) => [written(name, option), option.help] as const),
    ['--json', 'prints JSON'] as const,
    ['--quiet', 'shows no progress'] as const,
  ];
  const width = Math.max(...lines.map(([option]) => option.length));
  return [
    `Usage: bun run ${callOf(command)} [options]`,
    '',
    command.summary,
    '',
    ...lines.map(([option, help]) => `  ${option.padEnd(width)}  ${help}`),
  ].join('\n');
}

function overviewOf(commands: readonly CommandBase[]): string {
  const width = Math.max(...commands.map((command) => callOf(command).length));
  return [
    'Usage: bun run vault COMMAND',
    '',
    ...commands.map((command) => `  ${callOf(command).padEnd(width)}  ${command.summary}`),
    '',
    'Every command accepts --help and --json. Settings are the same VAULT_… variables as for the server.',
  ].join('\n');
}
