/** Commands of pages that start for good or ask for a terminal of their own: what can be said of them without running them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../server/config/config.ts';
import { runCommand } from '../helpers/command.ts';
import { helmFaults, kubectlFaults } from './cluster-commands.ts';

const project: {
  readonly scripts: Readonly<Record<string, string>>;
  readonly engines: Readonly<Record<string, string>>;
} = JSON.parse(readFileSync(join(import.meta.dir, '..', '..', 'package.json'), 'utf8'));

const SETTING = /^(VAULT_[A-Z_]+)=(\S+)\s+/;
const RUN = /^(?:bun|npx --yes bun@(\S+)) (?:run )?(\S+)(.*)$/;
const OPTIONAL = /\[([^\]]*)\]/g;
/** Scripts that hand their arguments on to `bun test`. */
const TAKES_FILES: ReadonlySet<string> = new Set(['test', 'test:long']);
const OPENED = 'a vault was opened';

/** What a command line of the operator comes to: whatever is well-formed gets as far as the vault. */
async function faultOfVault(line: string): Promise<string | undefined> {
  const args = line.trim().split(/\s+/);
  const { code, err } = await runCommand(args, {
    open: () => Promise.reject(new Error(OPENED)),
    config: () => loadConfig({}),
    // What needs no vault would begin with its work.
    signal: AbortSignal.abort(),
  }).catch((error: Error) => ({ code: error.message === OPENED ? 1 : 2, err: error.message }));
  return code === 2 ? `${line}: ${err}` : undefined;
}

/** What is wrong with a line; nothing where it names what there is. */
async function faultsOf(line: string): Promise<readonly string[]> {
  const settings: Record<string, string> = {};
  let rest = line;
  for (let found = SETTING.exec(rest); found !== null; found = SETTING.exec(rest)) {
    const [all, name = '', value = ''] = found;
    settings[name] = value;
    rest = rest.slice(all.length);
  }
  loadConfig(settings);
  // Where the input comes from, and where the output goes, is the shell's business.
  const own = rest.replace(/^.* \| (?=bun run )/, '').replace(/ > \S+$/, '');
  const [, version, script = '', args = ''] = RUN.exec(own) ?? [];
  if (project.scripts[script] === undefined) {
    return [`${line}: package.json has no such script`];
  }
  if (version !== undefined && project.engines['bun'] !== `>=${version}`) {
    return [`${line}: package.json asks for Bun ${project.engines['bun']}`];
  }
  if (script !== 'vault') {
    return args.trim() === '' || TAKES_FILES.has(script) ? [] : [`${line}: the script takes nothing`];
  }
  const shapes = new Set([args.replaceAll(OPTIONAL, ''), args.replaceAll(OPTIONAL, '$1')]);
  const faults = await Promise.all([...shapes].map(faultOfVault));
  return faults.flatMap((fault) => fault ?? []);
}

/** What is wrong with the commands of a block, line by line; comments are for people. */
export async function commandFaults(code: string): Promise<readonly string[]> {
  const lines = code
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '');
  const created = new Set<string>();
  const faults = lines.map((line) => {
    if (line.startsWith('helm ')) {
      return helmFaults(line);
    }
    return line.startsWith('kubectl ') ? kubectlFaults(line, created) : faultsOf(line);
  });
  return (await Promise.all(faults)).flat();
}
