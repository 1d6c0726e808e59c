import type { Command, Option } from './command.ts';

/** Options of every command, with their help. */
const COMMON: readonly (readonly [string, string])[] = [
  ['--json', 'prints JSON'],
  ['--quiet', 'shows no progress'],
];

/** How a command is called, without its options. */
export function callOf({ words, argument }: Command): string {
  return ['vault', ...words, ...(argument === undefined ? [] : [argument])].join(' ');
}

/** How an option is written. */
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

/** The help text of one command. */
export function helpOf(command: Command): string {
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
}

/** The help text of several commands, one line per command. */
export function overviewOf(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => callOf(command).length));
  return [
    'Usage: bun run vault COMMAND',
    '',
    ...commands.map((command) => `  ${callOf(command).padEnd(width)}  ${command.summary}`),
    '',
    'Every command accepts --help and --json. Settings are the same VAULT_… variables as for the server.',
  ].join('\n');
}
