import { normalAddress } from './addresses.ts';

/** The names in the hosts file of this machine. */
export interface HostsFile {
  /** The addresses of a lower-case name; undefined if the file does not contain it. */
  readonly find: (name: string) => Promise<readonly string[] | undefined>;
}

/** The path of the file, and the clock in ms. */
export interface HostsFileOptions {
  readonly path: string;
  readonly now: () => number;
}

type Names = ReadonlyMap<string, readonly string[]>;

/** The interval of checks for changes; container runtimes rewrite the file while a container runs. */
const FRESH_MS = 5_000;

/** Parses lines of an address and its names; a name may have several lines. Lines without a valid address are skipped. */
function parseHosts(text: string): Names {
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
}

/** Opens a hosts file. It is read again when it changes; a file that cannot be read has no names. */
export function createHostsFile({ path, now }: HostsFileOptions): HostsFile {
  let version = '';
  let names: Names = new Map();
  let refreshed: Promise<void> | undefined;
  let refreshedAt = 0;

  const refresh = async (): Promise<void> => {
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
    if (refreshed === undefined || now() - refreshedAt >= FRESH_MS) {
      refreshedAt = now();
      refreshed = refresh();
    }
    await refreshed;
    return names.get(name);
  };
  return Object.freeze({ find });
}
