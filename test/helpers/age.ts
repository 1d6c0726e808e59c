/** The stock age tool, as a recipient of an export uses it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const VENDORED = join(import.meta.dir, '../../.vendor/age/usr/bin');
/** Where programs are looked for: age is of this machine, or what scripts/age-vendor.sh unpacks. */
export const PATH_WITH_AGE = `${process.env['PATH']}${delimiter}${VENDORED}`;

/** Somebody who can be a recipient of files. */
export interface Reader {
  readonly recipient: string;
  /** The file of the secret. */
  readonly identity: string;
  /** Opens a file; `code` is not 0 where it is incomplete, or for others. */
  readonly open: (file: Uint8Array) => Promise<{ readonly code: number; readonly text: string }>;
  /** Removes the identity. */
  readonly close: () => void;
}

async function run(program: string, args: readonly string[], input: Uint8Array) {
  const found = Bun.which(program, { PATH: PATH_WITH_AGE });
  if (found === null) {
    throw new Error(`No ${program} for the tests: run scripts/age-vendor.sh`);
  }
  const child = Bun.spawn([found, ...args], {
    stdin: new Blob([input as Uint8Array<ArrayBuffer>]),
    stderr: 'ignore',
  });
  const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  return { code, text };
}

/** Makes an identity with age-keygen. */
export async function createReader(): Promise<Reader> {
  const folder = mkdtempSync(join(tmpdir(), 'vault-age-'));
  const identity = join(folder, 'identity.txt');
  const none = new Uint8Array(0);
  await run('age-keygen', ['-o', identity], none);
  const recipient = (await run('age-keygen', ['-y', identity], none)).text.trim();
  return {
    recipient,
    identity,
    open: (file) => run('age', ['-d', '-i', identity], file),
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** The contents of an export: its items, its last line, and whether that line fits the lines before it. */
export interface Exported {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly lines: readonly string[];
  readonly count: number;
  readonly isWhole: boolean;
}

/** Reads the text of an export. */
export function readExport(text: string): Exported {
  const lines = text.split('\n');
  const [last = '', empty] = lines.splice(-2);
  const { count, sha256 } = JSON.parse(last) as { readonly count: number; readonly sha256: string };
  const before = lines.map((line) => `${line}\n`).join('');
  const hash = new Bun.CryptoHasher('sha256').update(before).digest('hex');
  const isWhole = empty === '' && hash === sha256 && count === lines.length;
  return { items: lines.map((line) => JSON.parse(line)), lines, count, isWhole };
}
