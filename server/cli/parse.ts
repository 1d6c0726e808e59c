import { parseArgs } from 'node:util';
import { COMMANDS } from './all.ts';
import { type Command, CommandError, type Option, type OptionSet, type Values } from './commands/command.ts';
import { callOf, helpOf, overviewOf } from './help.ts';

/** A command line that was understood. */
export interface Line {
  readonly command: Command;
  readonly argument: string;
  readonly options: Values<OptionSet>;
  readonly json: boolean;
  readonly quiet: boolean;
}

const startsWith = (command: Command, words: readonly string[]): boolean =>
  words.every((word, index) => command.words[index] === word);

/** The command that the first words name, or those that begin so. */
const findCommand = (args: readonly string[]): Command | readonly Command[] => {
  const firstOption = args.findIndex((arg) => arg.startsWith('-'));
  const words = firstOption < 0 ? args : args.slice(0, firstOption);
  const found = COMMANDS.find(
    (command) =>
      startsWith(command, words.slice(0, command.words.length)) && words.length >= command.words.length,
  );
  return found ?? COMMANDS.filter((command) => startsWith(command, words));
};

const COMMON = {
  json: { type: 'boolean' },
  quiet: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const parsedAs = ({ kind }: Option) =>
  kind === 'flag' ? ({ type: 'boolean' } as const) : ({ type: 'string', multiple: kind === 'list' } as const);

const parse = (args: readonly string[], options: OptionSet) => {
  const switches = Object.keys(options).filter((name) => options[name]?.kind === 'switch');
  // These stand for true without a value, which parseArgs cannot say.
  const full = args.map((arg) => (switches.some((name) => arg === `--${name}`) ? `${arg}=true` : arg));
  const own = Object.fromEntries(Object.entries(options).map(([name, option]) => [name, parsedAs(option)]));
  try {
    return parseArgs({ args: full, options: { ...own, ...COMMON }, allowPositionals: true, strict: true });
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : '';
    throw new CommandError(reason.replace(/\. .*$/, '.'), 2);
  }
};

const readValue = (name: string, option: Option, value: unknown): unknown => {
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
};

/** The command with its argument and options; the text of a help that was asked for. */
export const readLine = (args: readonly string[]): string | Line => {
  const command = findCommand(args);
  const wantsHelp = args.includes('--help') || args.includes('-h');
  if (!('words' in command)) {
    if (command.length > 0 && wantsHelp) {
      return overviewOf(command);
    }
    if (args[0]?.startsWith('-')) {
      throw new CommandError('The command comes first, its options behind it; see bun run vault --help.', 2);
    }
    if (args.length === 0 || command.length > 0) {
      throw new CommandError(overviewOf(command), 2);
    }
    throw new CommandError('There is no such command; see bun run vault --help.', 2);
  }
  if (wantsHelp) {
    return helpOf(command);
  }
  const { values, positionals } = parse(args, command.options);
  const extra = positionals.slice(command.words.length);
  if (extra.length !== (command.argument === undefined ? 0 : 1)) {
    throw new CommandError(`The command is: ${callOf(command)}`, 2);
  }
  const argument = extra[0] ?? '';
  const given = Object.entries(command.options).filter(([name]) => Object.hasOwn(values, name));
  const options = Object.fromEntries(
    given.map(([name, option]) => [name, readValue(name, option, Reflect.get(values, name))]),
  ) as Values<OptionSet>;
  command.check?.({ argument, options });
  return { command, argument, options, json: values['json'] === true, quiet: values['quiet'] === true };
};
