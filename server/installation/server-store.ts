import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asPairs, asText } from '../redis/reply.ts';
import heartbeatText from './heartbeat-server-1.lua' with { type: 'text' };

const heartbeat = script(heartbeatText);

/** How long a server counts as running after a heartbeat. */
const LEASE_MS = 15_000;
/** The interval of heartbeats. */
export const HEARTBEAT_MS = 5_000;

/** A running server of this vault. */
export interface ServerEntry {
  /** A random id of the process. */
  readonly id: string;
  /** The host name of its machine. */
  readonly host: string;
  /** The same for processes that share a network stack, and so the ports; empty if unknown. */
  readonly network: string;
  /** The configured listen address. */
  readonly address: string;
  readonly port: number;
  readonly pid: number;
  readonly version: string;
  /** RFC 3339. */
  readonly started: string;
  /** The state of the root record that it has used since its last heartbeat; empty for a version that knows none. */
  readonly roots: string;
}

/** The running servers of this vault, for operators and for sharing ports; no data depends on it. */
export interface ServerStore {
  /** Records that a server runs; returns all running servers. */
  heartbeat(entry: ServerEntry): Promise<readonly ServerEntry[]>;
  /** All running servers. */
  list(): Promise<readonly ServerEntry[]>;
  /** Removes a server that stops. */
  leave(id: string): Promise<void>;
}

const FIELDS = ['host', 'network', 'address', 'port', 'pid', 'version', 'started', 'roots'] as const;

function write(entry: ServerEntry): string {
  return FIELDS.map((field) => encodeURIComponent(entry[field])).join(' ');
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

/** Malformed entries are accepted: they are only displayed and compared. */
function read(id: string, line: string): ServerEntry {
  const [host = '', network = '', address = '', port = '', pid = '', version = '', started = '', roots = ''] =
    line.split(' ').map(decode);
  return { id, host, network, address, port: Number(port), pid: Number(pid), version, started, roots };
}

function readAll(reply: unknown): readonly ServerEntry[] {
  return asPairs(reply).map(([id, line]) => read(asText(id), asText(line)));
}

/** The servers of one Redis. */
export function createServerStore(redis: RedisLink): ServerStore {
  const run = async (id: string, entry: string): Promise<readonly ServerEntry[]> =>
    readAll(await redis.run(heartbeat, [redisKeys.servers], [id, entry, LEASE_MS]));
  return {
    heartbeat: (entry) => run(entry.id, write(entry)),
    list: () => run('', ''),
    async leave(id) {
      await run(id, '');
    },
  };
}
