import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type AdvisoryList, ageOf, lockedPackages, matchAdvisories } from '../../scripts/advisories/match.ts';

const root = join(import.meta.dir, '..', '..');
const lock = await Bun.file(join(root, 'bun.lock')).text();
const list: AdvisoryList = await Bun.file(join(root, 'scripts/advisories/list.json')).json();
const packages = new Set(lockedPackages(lock).map((id) => id.slice(0, id.lastIndexOf('@'))));

describe('the lock file', () => {
  test('holds no package that an advisory of the list is about', () => {
    expect(packages.size).toBeGreaterThan(200);
    expect(matchAdvisories(lock, list)).toEqual([]);
  });

  test('holds every package of the list, which else says nothing', () => {
    expect(list.advisories.length).toBeGreaterThan(10);
    expect(list.advisories.filter((known) => !packages.has(known.package))).toEqual([]);
  });

  test.each(list.advisories)('would be found with $package $versions', (known) => {
    const version = affectedBy(known.versions);
    const changed = lock.replace(
      new RegExp(`^    "${known.package}": \\["[^"]+"`, 'm'),
      `    "${known.package}": ["${known.package}@${version}"`,
    );
    expect(changed).not.toBe(lock);
    expect(matchAdvisories(changed, list)).toContain(`${known.package}@${version}: ${known.id}`);
  });
});

/** A version of a range: the one that it names, or the one right before the first that is not affected any more. */
function affectedBy(versions: string): string {
  if (versions.startsWith('=')) {
    return versions.slice(1);
  }
  const [, bound = ''] = /<(\d+\.\d+\.\d+)/.exec(versions) ?? [];
  const parts = bound.split('.').map(Number);
  const last = parts.findLastIndex((part) => part > 0);
  return parts.map((part, at) => (at < last ? part : at === last ? part - 1 : 99)).join('.');
}

test('a list that nobody has looked after for a quarter is outdated', () => {
  const day = 86_400_000;
  const from = Date.parse('2026-01-01');
  const dated = { reviewedUntil: '2026-01-01', advisories: [] };
  expect(ageOf(dated, from + 90 * day)).toEqual({ days: 90, isOutdated: false });
  expect(ageOf(dated, from + 91 * day)).toEqual({ days: 91, isOutdated: true });
  expect(ageOf({ ...dated, reviewedUntil: 'soon' }, from).isOutdated).toBe(true);
});
