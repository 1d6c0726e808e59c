import { isIP } from 'node:net';
import { parseArgs } from 'node:util';
import {
  COMMANDS,
  type Command,
  CommandError,
  type CommandOptions,
  type Operator,
  type OptionName,
} from './cli-commands.ts';
import { ConfigError } from './config.ts';
import { VaultError } from './errors.ts';

/** What the command line works with. */
export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Opens the vault that the environment describes; called only for a command line that is right. */
  readonly open: () => Promise<{ readonly operator: Operator; readonly close: () => Promise<void> }>;
}

const OPTION_HELP: Readonly<Record<OptionName, string>> = {
  unmasked: '--unmasked[=true|false]  whether the account sees numbers unmasked',
  paying: '--paying[=true|false]    whether the account is paying',
  'allow-host':
    '--allow-host HOST        a host that the account may send data to; repeat for more, "any" for all',
  json: '--json                   prints JSON',
  yes: '--yes                    does it without asking',
};

const call = ({ words, argument }: Command): string =>
  ['vault', ...words, ...(argument === undefined ? [] : [argument])].join(' ');

const helpOf = (command: Command): string =>
  [
    `Usage: bun run ${call(command)}${command.options.length === 0 ? '' : ' [options]'}`,
    '',
    command.summary,
    ...(command.options.length === 0 ? [] : ['', ...command.options.map((name) => `  ${OPTION_HELP[name]}`)]),
  ].join('\n');

const overview = (commands: readonly Command[]): string => {
  const width = Math.max(...commands.map((command) => call(command).length));
  return [
    'Usage: bun run vault COMMAND',
    '',
    ...commands.map((command) => `  ${call(command).padEnd(width)}  ${command.summary}`),
    '',
    'Every command takes --help. Settings come from the same VAULT_… variables as the server.',
  ].join('\n');
};

const startsWith = (command: Command, words: readonly string[]): boolean =>
  words.every((word, index) => command.words[index] === word);

/** The command that the first words name, or the overview of those that begin so. */
const findCommand = (args: readonly string[]): Command | readonly Command[] => {
  const firstOption = args.findIndex((arg) => arg.startsWith('-'));
  const words = firstOption < 0 ? args : args.slice(0, firstOption);
  const found = COMMANDS.find(
    (command) =>
      startsWith(command, words.slice(0, command.words.length)) && words.length >= command.words.length,
  );
  return found ?? COMMANDS.filter((command) => startsWith(command, words));
};

const flag = (name: string, text: string | undefined): boolean | undefined => {
  if (text === undefined) {
    return undefined;
  }
  if (text === 'true' || text === 'false') {
    return text === 'true';
  }
  throw new CommandError(`--${name} must be true or false.`, 2);
};

const isHost = (text: string): boolean =>
  isIP(text) !== 0 || /^(?:\*\.)?(?=.{1,253}$)(?!-)[a-z0-9_-]{1,63}(?:\.(?!-)[a-z0-9_-]{1,63})*$/.test(text);

const hostsOf = (values: readonly string[] | undefined): readonly string[] | undefined => {
  if (values === undefined) {
    return undefined;
  }
  const hosts = values.flatMap((value) => value.split(',')).map((host) => host.trim().toLowerCase());
  if (hosts.length === 1 && hosts[0] === 'any') {
    return [];
  }
  if (!hosts.every(isHost) || hosts.includes('any')) {
    throw new CommandError(
      '--allow-host must be a host name, *. and a host name, or an address, without scheme, port or path.',
      2,
    );
  }
  return [...new Set(hosts)];
};

const PARSED = {
  unmasked: { type: 'string' },
  paying: { type: 'string' },
  'allow-host': { type: 'string', multiple: true },
  json: { type: 'boolean' },
  yes: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const parse = (args: readonly string[]) => {
  // These two stand for true without a value, which parseArgs cannot say.
  const full = args.map((arg) => (arg === '--unmasked' || arg === '--paying' ? `${arg}=true` : arg));
  try {
    return parseArgs({ args: full, options: PARSED, allowPositionals: true, strict: true });
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : '';
    throw new CommandError(reason.replace(/\. .*$/, '.'), 2);
  }
};

/** The command with its argument and options; the text of a help that was asked for. */
const readLine = (
  args: readonly string[],
): string | { command: Command; argument: string; options: CommandOptions } => {
  const found = findCommand(args);
  const wantsHelp = args.includes('--help') || args.includes('-h');
  if (!('run' in found)) {
    if (found.length > 0 && wantsHelp) {
      return overview(found);
    }
    if (args.length === 0 || found.length > 0) {
      throw new CommandError(overview(found), 2);
    }
    throw new CommandError('There is no such command; see bun run vault --help.', 2);
  }
  if (wantsHelp) {
    return helpOf(found);
  }
  const { values, positionals } = parse(args);
  const extra = positionals.slice(found.words.length);
  const refused = Object.keys(values).find((name) => !found.options.some((option) => option === name));
  if (refused !== undefined) {
    throw new CommandError(`${call(found)} does not take --${refused}.`, 2);
  }
  if (extra.length !== (found.argument === undefined ? 0 : 1)) {
    throw new CommandError(`The command is: ${call(found)}`, 2);
  }
  const unmasked = flag('unmasked', values.unmasked);
  const paying = flag('paying', values.paying);
  const hosts = hostsOf(values['allow-host']);
  const options = {
    ...(unmasked === undefined ? {} : { unmasked }),
    ...(paying === undefined ? {} : { paying }),
    ...(hosts === undefined ? {} : { hosts }),
    json: values.json === true,
    yes: values.yes === true,
  };
  found.check?.(extra[0] ?? '', options);
  return { command: found, argument: extra[0] ?? '', options };
};

/** An error as one line. Of one that nobody foresaw only the name is shown: its message may hold data. */
const failure = (error: unknown): { readonly text: string; readonly exitCode: number } => {
  if (error instanceof CommandError) {
    return { text: error.message, exitCode: error.exitCode };
  }
  if (error instanceof ConfigError || error instanceof VaultError) {
    return { text: error.message, exitCode: 1 };
  }
  const text =
    error instanceof Error && error.name === 'StartError'
      ? error.message
      : 'The command failed unexpectedly.';
  return { text, exitCode: 1 };
};

/**
 * Carries out one command line and resolves with the exit code: 0 done, 1 failed, 2 the command line was
 * wrong. Results go to standard output, refusals to standard error.
 */
export const runCommandLine = async (args: readonly string[], terminal: Terminal): Promise<number> => {
  try {
    const line = readLine(args);
    if (typeof line === 'string') {
      terminal.out(`${line}\n`);
      return 0;
    }
    const { operator, close } = await terminal.open();
    try {
      terminal.out(`${await line.command.run(operator, line.argument, line.options)}\n`);
    } finally {
      await close();
    }
    return 0;
  } catch (error) {
    const { text, exitCode } = failure(error);
    terminal.err(`${text}\n`);
    return exitCode;
  }
};
