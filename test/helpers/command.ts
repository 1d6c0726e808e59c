import { runCommandLine, type Terminal } from '../../server/cli/run.ts';
import { COMMANDS, type CommandNeeds, needsOf } from '../../server/commands.ts';
import { loadConfig } from '../../server/config/config.ts';
import type { TestVault } from './vault.ts';

/** The result of a command line. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** How often a vault was opened for it. */
  readonly opened: number;
}

type RunSettings = Partial<Pick<Terminal<CommandNeeds>, 'open' | 'config' | 'isTerminal' | 'now' | 'signal'>>;

/** Runs a command line in this process, by default on a vault that the test has open, which stays open. */
export async function runCommand(
  args: readonly string[],
  settings: RunSettings & { readonly vault?: TestVault } = {},
): Promise<Ran> {
  const { vault } = settings;
  const out: string[] = [];
  const err: string[] = [];
  let opened = 0;
  let open = 0;
  const given: Terminal<CommandNeeds>['open'] =
    settings.open ??
    (async (config) => {
      if (vault === undefined) {
        throw new Error('this command line opened a vault');
      }
      const { target, ring } = vault;
      const close = async (): Promise<void> => undefined;
      return needsOf({ vault: vault.opened, config, target, ring, unsafe: [], close });
    });
  const code = await runCommandLine(args, COMMANDS, {
    out: (text) => void out.push(typeof text === 'string' ? text : new TextDecoder().decode(text)),
    err: (text) => void err.push(text),
    isTerminal: settings.isTerminal ?? false,
    now: settings.now ?? Date.now,
    signal: settings.signal ?? new AbortController().signal,
    config: settings.config ?? (() => loadConfig({}, [])),
    open: async (config) => {
      opened += 1;
      const needs = await given(config);
      open += 1;
      return {
        ...needs,
        close: async () => {
          open -= 1;
          await needs.close();
        },
      };
    },
  });
  if (open !== 0) {
    throw new Error('a command did not close the vault that it had opened');
  }
  return { code, out: out.join(''), err: err.join(''), opened };
}

/** The JSON that a command prints with `--json`; throws unless it ended with exit code 0. */
export async function commandJson<T>(vault: TestVault, ...args: readonly string[]): Promise<T> {
  const { code, out, err } = await runCommand([...args, '--json'], { vault });
  if (code !== 0) {
    throw new Error(`vault ${args.join(' ')}: ${err}`);
  }
  return JSON.parse(out) as T;
}
