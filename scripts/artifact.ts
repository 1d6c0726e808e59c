/** Folders of files that are built from sources of the checkout: the packed SDK and the built guide. */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';

const ROOT = join(import.meta.dir, '..');
/** Contains the fingerprint of the sources and the names of the built files, one per line; written last. */
const STAMP = 'sources.sha256';

/** One such folder. */
export interface Artifact {
  readonly folder: string;
  /** Patterns of all files that can change the result, from the project's root. */
  readonly sources: readonly string[];
  /** The file that refers to the others: it replaces its predecessor after they have. */
  readonly index: string;
  /** Writes the files, without subfolders, into an empty folder. It must be deterministic. */
  readonly make: (work: string) => Promise<void>;
}

async function fingerprintOf(sources: readonly string[]): Promise<string> {
  const paths = new Set(
    sources.flatMap((pattern) => {
      const found = [...new Glob(pattern).scanSync(ROOT)];
      if (found.length === 0) {
        throw new Error(`No source matches ${pattern}: its changes would not be noticed.`);
      }
      return found;
    }),
  );
  const hasher = new Bun.CryptoHasher('sha256').update(Bun.version);
  for (const path of [...paths].sort()) {
    hasher.update(`\n${path}\n`).update(await Bun.file(join(ROOT, path)).bytes());
  }
  return hasher.digest('hex');
}

async function readStamp(folder: string): Promise<readonly string[]> {
  const file = Bun.file(join(folder, STAMP));
  return (await file.exists()) ? (await file.text()).trimEnd().split('\n') : [];
}

/** Moves each file atomically, so that readers always see whole files; then removes files of the previous build. */
function publish(work: string, { folder, index }: Artifact, before: readonly string[]): readonly string[] {
  const files = [...readdirSync(work).filter((name) => name !== index), index];
  for (const name of files) {
    renameSync(join(work, name), join(folder, name));
  }
  for (const name of before) {
    if (!files.includes(name)) {
      rmSync(join(folder, name), { force: true });
    }
  }
  return files;
}

/**
 * Builds an artifact; with `--if-changed` on the command line, only if its sources have changed. Safe to run in several
 * processes at the same time. Resolves to whether it was built.
 */
export async function makeArtifact(artifact: Artifact): Promise<boolean> {
  const { folder, make } = artifact;
  const fingerprint = await fingerprintOf(artifact.sources);
  const [made, ...before] = await readStamp(folder);
  if (made === fingerprint && process.argv.includes('--if-changed')) {
    return false;
  }
  mkdirSync(folder, { recursive: true });
  // Inside the folder, because a move is atomic only within a file system.
  const work = mkdtempSync(join(folder, '.making-'));
  try {
    await make(work);
    const files = publish(work, artifact, before);
    await Bun.write(join(work, STAMP), `${[fingerprint, ...files].join('\n')}\n`);
    renameSync(join(work, STAMP), join(folder, STAMP));
    return true;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The folder from the command line, or the one of that name in `dist/`. */
export function folderOf(name: string): string {
  return process.argv.slice(2).find((argument) => !argument.startsWith('-')) ?? join(ROOT, 'dist', name);
}
