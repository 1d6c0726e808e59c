import type { Command, Option } from './commands/command.ts';

/** The options of every command. */
const COMMON: readonly (readonly [string, string])[] = [
  ['--json', 'prints JSON'],
  ['--quiet', 'shows no progress'],
];

/** How a command is called, without its options. */
export const callOf = ({ words, argument }: Command): string =>
  ['vault', ...words, ...(argument === undefined ? [] : [argument])].join(' ');

const written = (name: string, option: Option): string => {
  switch (option.kind) {
    case 'flag':
      return `--${name}`;
    case 'switch':
      return `--${name}[=true|false]`;
    default:
      return `--${name} ${option.value}`;
  }
};

/** The help of one command. */
export const helpOf = (command: Command): string => {
  const own = Object.entries(command.options).map(
    ([name, option]) => [written(name, option), option.help] as const,
  );
  const lines = [...own, ...COMMON];
  const width = Math.max(...lines.map(([option]) => option.length));
  return [
    `Usage: bun run ${callOf(command)} [options]`,
    '',
    command.summary,
    '',
    ...lines.map(([option, help]) => `  ${option.padEnd(width)}  ${help}`),
  ].join('\n');
};

/** The help of several commands: a line for each. */
export const overviewOf = (commands: readonly Command[]): string => {
  const width = Math.max(...commands.map((command) => callOf(command).length));
  return [
    'Usage: bun run vault COMMAND',
    '',
    ...commands.map((command) => `  ${callOf(command).padEnd(width)}  ${command.summary}`),
    '',
    'Every command takes --help and --json. Settings come from the same VAULT_… variables as the server.',
  ].join('\n');
};
