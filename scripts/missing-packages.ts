/**
 * Fails, and names them, where packages are missing that a server needs, or have other versions than package.json says:
 * `bun scripts/missing-packages.ts [FOLDER]`. It looks through the packages that those need in turn, and imports none.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

interface Found {
  readonly folder: string;
  readonly manifest: Manifest;
}

const root = resolve(process.argv[2] ?? join(import.meta.dir, '..'));

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** The package as a file in `from` would find it, never outside of the root. */
function find(name: string, from: string): Found | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) {
      return { folder: candidate, manifest: readManifest(candidate) };
    }
    if (folder === root) {
      return undefined;
    }
  }
}

/** Adds what is missing of the packages that one needs, and of those that they need. */
function addMissing({ folder, manifest }: Found, missing: Set<string>, seen: Set<string>): void {
  for (const [name, wanted] of Object.entries(manifest.dependencies ?? {})) {
    const found = find(name, folder);
    if (found === undefined) {
      missing.add(name);
    } else if (folder === root && found.manifest.version !== wanted) {
      missing.add(`${name} ${wanted} (not ${found.manifest.version})`);
    } else if (!seen.has(found.folder)) {
      seen.add(found.folder);
      addMissing(found, missing, seen);
    }
  }
}

const missing = new Set<string>();
addMissing({ folder: root, manifest: readManifest(root) }, missing, new Set());
if (missing.size > 0) {
  process.stderr.write(`Missing packages: ${[...missing].toSorted().join(', ')}.\n`);
  process.exit(1);
}
