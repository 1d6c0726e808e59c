import { type RedisLink, script } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asPairs, asText } from '../redis/reply.ts';
import heartbeatText from './heartbeat-server-1.lua' with { type: 'text' };

const heartbeat = script(heartbeatText);

/** The time that a server counts as running after a heartbeat. */
const LEASE_MS = 15_000;

export interface ServerEntry {
  /** A random id of the process. */
  readonly id: string;
  readonly host: string;
  /** The same for processes that share a network stack, and so the ports; empty if unknown. */
  readonly network: string;
  readonly address: string;
  readonly port: number;
  readonly pid: number;
  readonly version: string;
  /** RFC 3339. */
  readonly started: string;
  /** The state of the root record that it has used since its last heartbeat; empty for a version that knows none. */
  readonly roots: string;
  /** The end of the certificate that it serves, RFC 3339; empty without TLS, and for a version that does not tell. */
  readonly certificateEnd: string;
}

const FIELDS = [
  ...(['host', 'network', 'address', 'port', 'pid', 'version', 'started', 'roots'] as const),
  'certificateEnd',
] as const;

/** Stores the running servers of this vault, for operators and for sharing ports; no data depends on it. */
export class ServerStore {
  constructor(private readonly redis: RedisLink) {}

  /** Records that a server runs; returns all running servers. */
  heartbeat(entry: ServerEntry): Promise<readonly ServerEntry[]> {
    return this.run(entry.id, write(entry));
  }

  list(): Promise<readonly ServerEntry[]> {
    return this.run('', '');
  }

  async leave(id: string): Promise<void> {
    await this.run(id, '');
  }

  private async run(id: string, entry: string): Promise<readonly ServerEntry[]> {
    const reply = await this.redis.run(heartbeat, [redisKeys.servers], [id, entry, LEASE_MS]);
    return asPairs(reply).map(([other, line]) => read(asText(other), asText(line)));
  }
}

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

/** Reads an entry. Malformed ones are accepted: they are only displayed and compared. */
function read(id: string, line: string): ServerEntry {
  const [host = '', network = '', address = '', port = '', pid = '', ...others] = line.split(' ').map(decode);
  const [version = '', started = '', roots = '', certificateEnd = ''] = others;
  return {
    ...{ id, host, network, address, port: Number(port), pid: Number(pid) },
    ...{ version, started, roots, certificateEnd },
  };
}
