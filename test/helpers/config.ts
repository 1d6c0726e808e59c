import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The path of a file in test/vectors. */
export function vectorPath(name: string): string {
  return join(import.meta.dir, '..', 'vectors', name);
}

/** A master key in base64 that differs for every seed. */
export function keyText(seed: number): string {
  return Buffer.from(Array.from({ length: 32 }, (_, index) => (index + seed) % 256)).toString('base64');
}

/** Writes a file with exactly this mode, whatever the umask, and gives its path. */
export function writePrivate(path: string, text: string, mode = 0o600): string {
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}
