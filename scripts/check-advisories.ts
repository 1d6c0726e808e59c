/**
 * Compares the lock file with known advisories: those that the registry knows, where it answers `bun audit`, else the
 * list that is checked in. Says which of the two it was. Ends with exit code 1 where an advisory is about a locked
 * package, and where the registry does not answer and the list is outdated, since then nobody has looked.
 *
 *     bun run check:advisories
 */
import { join } from 'node:path';
import { type AdvisoryList, ageOf, matchAdvisories } from './advisories/match.ts';

const ROOT = join(import.meta.dir, '..');

function end(code: 0 | 1, lines: readonly string[]): never {
  process.stdout.write(`${lines.join('\n')}\n`);
  process.exit(code);
}

/** What the registry says; undefined where it says nothing. */
async function askRegistry(): Promise<Record<string, unknown> | undefined> {
  const audit = Bun.spawn([process.execPath, 'audit', '--production', '--json'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 60_000,
  });
  try {
    return JSON.parse(await audit.stdout.text());
  } catch {
    return undefined;
  }
}

const lock = await Bun.file(join(ROOT, 'bun.lock')).text();
const list: AdvisoryList = await Bun.file(join(import.meta.dir, 'advisories/list.json')).json();
const listed = matchAdvisories(lock, list);
if (listed.length > 0) {
  end(1, ['Advisories of the list:', ...listed]);
}
const known = await askRegistry();
if (known !== undefined) {
  const found = Object.keys(known);
  end(found.length > 0 ? 1 : 0, [
    `The registry has advisories about ${found.length} packages of the server.`,
    ...found,
  ]);
}
const { days, isOutdated } = ageOf(list, Date.now());
end(isOutdated ? 1 : 0, [
  'The registry could not be asked. No advisory of the list is about a locked package.',
  `The list was reviewed until ${list.reviewedUntil}, ${days} days ago${isOutdated ? ': that is outdated.' : '.'}`,
]);
