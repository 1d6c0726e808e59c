import { normalAddress } from './addresses.ts';

/** The names that the operator gave to addresses on this machine. */
export interface HostsFile {
  /** The addresses of a name in lower case, or undefined when the file does not know it. */
  readonly find: (name: string) => Promise<readonly string[] | undefined>;
}

/** Where the file lies, and the clock in milliseconds. */
export interface HostsFileOptions {
  readonly path: string;
  readonly now: () => number;
}

type Names = ReadonlyMap<string, readonly string[]>;

/** After so long it is looked at again; containers get theirs rewritten while they run. */
const FRESH_MS = 5_000;

/** Lines of an address and its names; a name may have several lines. What is no plain address is passed over. */
const parseHosts = (text: string): Names => {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [written = '', ...aliases] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    const address = normalAddress(written);
    for (const name of address === undefined ? [] : aliases) {
      const known = names.get(name) ?? [];
      names.set(name, known.includes(address ?? '') ? known : [...known, address ?? '']);
    }
  }
  return names;
};

/** A hosts file that is read once for as long as it does not change; one that cannot be read has no names. */
export const createHostsFile = ({ path, now }: HostsFileOptions): HostsFile => {
  let version = '';
  let names: Names = new Map();
  let looked: Promise<void> | undefined;
  let lookedAt = 0;

  const look = async (): Promise<void> => {
    try {
      const file = Bun.file(path);
      const { ino, size, mtimeMs, ctimeMs } = await file.stat();
      const found = [ino, size, mtimeMs, ctimeMs].join(' ');
      if (found !== version) {
        names = parseHosts(await file.text());
        version = found;
      }
    } catch {
      names = new Map();
      version = '';
    }
  };

  const find: HostsFile['find'] = async (name) => {
    if (looked === undefined || now() - lookedAt >= FRESH_MS) {
      lookedAt = now();
      looked = look();
    }
    await looked;
    return names.get(name);
  };
  return Object.freeze({ find });
};
