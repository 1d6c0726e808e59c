/** Known advisories of the server's packages, and what of a lock file they are about. */
import { semver } from 'bun';

interface Advisory {
  readonly id: string;
  readonly package: string;
  /** A range of versions in the syntax of package.json. */
  readonly versions: string;
}

/** The list that is checked in. */
export interface AdvisoryList {
  /** The day up to which somebody has looked for advisories of all runtime packages, as YYYY-MM-DD. */
  readonly reviewedUntil: string;
  readonly advisories: readonly Advisory[];
}

/** How old the list may be, in days. */
const AGE_DAYS_MAX = 90;
const DAY_MS = 86_400_000;

/** The versions of packages that a bun.lock holds, as `name@version`; a package may have several. */
export function lockedPackages(lock: string): readonly string[] {
  const [, packages = ''] = lock.split('"packages": {');
  return [...packages.matchAll(/^ {4}"[^"]+": \["([^"]+)"/gm)].map(([, id = '']) => id);
}

/** The advisories that are about a locked package, one line each. */
export function matchAdvisories(lock: string, { advisories }: AdvisoryList): readonly string[] {
  return lockedPackages(lock).flatMap((id) => {
    const at = id.lastIndexOf('@');
    const [name, version] = [id.slice(0, at), id.slice(at + 1)];
    return advisories
      .filter((known) => known.package === name && semver.satisfies(version, known.versions))
      .map((known) => `${id}: ${known.id}`);
  });
}

/** The age of the list in whole days at a time in Unix milliseconds, and whether that is too much. */
export function ageOf({ reviewedUntil }: AdvisoryList, nowMs: number): { days: number; isOutdated: boolean } {
  const days = Math.floor((nowMs - Date.parse(reviewedUntil)) / DAY_MS);
  return { days, isOutdated: !(days <= AGE_DAYS_MAX) };
}
