import tellText from './lua/maintenance/tell-server-1.lua' with { type: 'text' };
import { list, type RedisLink, script, text } from './redis/client.ts';
import { redisKeys } from './redis/keys.ts';

const tell = script(tellText);

/** How long a server that says nothing is still taken for one that runs. */
const LEASE_MS = 15_000;
/** How often a server says that it runs. */
export const TELL_MS = 5_000;

/** A process that serves this vault. */
export interface ServerEntry {
  /** Random, of this life of the process. */
  readonly id: string;
  /** The name of its machine. */
  readonly host: string;
  /** The same for processes that share a network stack, whose ports they compete for; empty when unknown. */
  readonly network: string;
  /** What it listens on, as set. */
  readonly address: string;
  readonly port: number;
  readonly pid: number;
  readonly version: string;
  /** RFC 3339. */
  readonly started: string;
}

/** Which servers run on this vault. It guides operators and the sharing of ports; no data depends on it. */
export interface ServerStore {
  /** Says that a server runs, until the lease ends; gives all that run. */
  tell(entry: ServerEntry): Promise<readonly ServerEntry[]>;
  /** All that run. */
  list(): Promise<readonly ServerEntry[]>;
  leave(id: string): Promise<void>;
}

const FIELDS = ['host', 'network', 'address', 'port', 'pid', 'version', 'started'] as const;

const write = (entry: ServerEntry): string =>
  FIELDS.map((field) => encodeURIComponent(entry[field])).join(' ');

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
};

/** Whatever stands there: it is shown to operators and compared, never relied upon. */
const read = (id: string, line: string): ServerEntry => {
  const [host = '', network = '', address = '', port = '', pid = '', version = '', started = ''] = line
    .split(' ')
    .map(decode);
  return { id, host, network, address, port: Number(port), pid: Number(pid), version, started };
};

const readAll = (reply: unknown): readonly ServerEntry[] => {
  const parts = list(reply).map(text);
  return parts.flatMap((part, index) => (index % 2 === 0 ? [read(part, parts[index + 1] ?? '')] : []));
};

/** The servers of one Redis. */
export const createServerStore = (redis: RedisLink): ServerStore => {
  const run = async (id: string, entry: string): Promise<readonly ServerEntry[]> =>
    readAll(await redis.run(tell, [redisKeys.servers], [id, entry, LEASE_MS]));
  return {
    tell: (entry) => run(entry.id, write(entry)),
    list: () => run('', ''),
    async leave(id) {
      await run(id, '');
    },
  };
};
