/** The connection to a Redis Cluster. The library knows the nodes and their slots; commands are sent and redirected here. */
import type { Cluster, Redis } from 'ioredis';
import { RedisLink, type RedisNode } from './client.ts';
import { refreshSlots } from './connect.ts';
import type { Argument, ReplyError } from './resp.ts';
import { type Call, type LinkOptions, Wire } from './wire.ts';

const SLOTS = 16_384;
/** How often a call is sent again, and the pause before, in ms, while the keys of a script are on two nodes. */
const REDIRECTIONS_MAX = 16;
const TRY_AGAIN_MS = 100;

/** The slot of a key, whose name begins with a tag in braces: CRC16 (XMODEM) of the tag. */
function slotOf(key: string): number {
  let crc = 0;
  for (let i = 1, end = key.indexOf('}'); i < end; i++) {
    crc ^= key.charCodeAt(i) << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    }
  }
  return crc & (SLOTS - 1);
}

function addressOf({ options: { host, port } }: Redis): string {
  return `${host}:${port}`;
}

/** Sends a call to a node, which is asked for it if its slot is moving there. */
function addAsked(call: Call, to: Wire): void {
  if (call.isAsking) {
    to.command('ASKING', []).catch(() => undefined);
  }
  to.add(call);
}

export class ClusterLink extends RedisLink {
  readonly isCluster = true;
  /** Connections to nodes by address; each is opened when it is first used. */
  private readonly wires = new Map<string, Wire>();

  constructor(
    private readonly cluster: Cluster,
    options: LinkOptions,
  ) {
    super(cluster, options);
    cluster.on('+node', (node: Redis) => {
      const address = addressOf(node);
      const wire = new Wire(node, this.wireOptions, this);
      this.wires.set(address, wire);
      node.on('end', () => {
        if (this.wires.get(address) === wire) {
          this.wires.delete(address);
        }
      });
    });
  }

  nodes(): readonly RedisNode[] {
    return this.cluster.nodes().flatMap((node) => this.wires.get(addressOf(node)) ?? []);
  }

  /** Sends a call to the node that an error names, or once more while its slot moves; false if it must fail. */
  redirect(call: Call, { message }: ReplyError, from: Wire): boolean {
    const [kind, slot, address = ''] = message.split(' ');
    if (!/^(?:MOVED|ASK|TRYAGAIN)$/.test(kind ?? '') || call.redirections === REDIRECTIONS_MAX) {
      return false;
    }
    call.redirections += 1;
    if (kind === 'TRYAGAIN') {
      setTimeout(() => addAsked(call, from), TRY_AGAIN_MS);
      return true;
    }
    const to = this.wireAt(address);
    if (to === undefined) {
      return false;
    }
    call.isAsking = kind === 'ASK';
    if (kind === 'MOVED') {
      this.cluster.slots[Number(slot) % SLOTS] = [address];
      this.refresh();
    }
    addAsked(call, to);
    return true;
  }

  refresh(): void {
    refreshSlots(this.cluster);
  }

  protected wireOf(key: Argument | undefined): Wire | undefined {
    const address = this.cluster.slots[slotOf(String(key))]?.[0];
    return address === undefined ? undefined : this.wireAt(address);
  }

  private wireAt(address: string): Wire | undefined {
    if (!this.wires.has(address) && this.cluster.status === 'ready') {
      const colon = address.lastIndexOf(':');
      // The library has no public way to connect to a node that is not in its table of slots.
      this.cluster['connectionPool'].findOrCreate({
        host: address.slice(0, colon),
        port: Number(address.slice(colon + 1)),
      });
    }
    return this.wires.get(address);
  }
}
