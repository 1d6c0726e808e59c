/** A client of a whole Cluster for tests that look into Redis past the vault. */
import { EventEmitter } from 'node:events';
import type Redis from 'ioredis';
import { Cluster } from 'ioredis';

type Call = (...args: readonly unknown[]) => Promise<unknown>;
type Join = (replies: readonly unknown[]) => unknown;

const all: Join = (replies) => replies.flat();
const sum: Join = (replies) => replies.reduce<number>((total, reply) => total + Number(reply), 0);
const first: Join = ([reply]) => reply;

/** Commands whose reply covers one node: sent to every master, and the replies are joined. */
const OF_EVERY_MASTER: Readonly<Record<string, Join>> = {
  keys: all,
  keysBuffer: all,
  dbsize: sum,
  flushall: first,
  acl: first,
  config: first,
  info: (replies) => replies.join('\r\n'),
};

/** Commands with several keys, which can be in different slots: sent once for each key. */
const OF_EVERY_KEY: Readonly<Record<string, Join>> = { del: sum, exists: sum, mget: all, mgetBuffer: all };

function callOf(client: object, name: string): Call {
  const method: unknown = Reflect.get(client, name);
  return (...args) => Promise.resolve(Reflect.apply(method as Call, client, args));
}

/** The commands of all masters as one stream of events, like MONITOR. */
async function monitorAll(cluster: Cluster): Promise<EventEmitter & { disconnect(): void }> {
  const monitors = await Promise.all(cluster.nodes('master').map((node) => node.duplicate().monitor()));
  const joined = new EventEmitter();
  for (const monitor of monitors) {
    monitor.on('monitor', (...told: readonly unknown[]) => joined.emit('monitor', ...told));
  }
  return Object.assign(joined, {
    disconnect() {
      for (const monitor of monitors) {
        monitor.disconnect();
      }
    },
  });
}

/** Opens a client that looks like one of a single Redis, and asks every node where that is needed for the same answer. */
export function openAllNodes(urls: readonly string[]): Redis {
  const cluster = new Cluster([...urls]);
  const untilReady = async (): Promise<void> => void (await cluster.call('PING'));
  const ask = (name: string): Call | undefined => {
    const ofMasters = OF_EVERY_MASTER[name];
    if (ofMasters !== undefined) {
      return async (...args) => {
        await untilReady();
        return ofMasters(
          await Promise.all(cluster.nodes('master').map((node) => callOf(node, name)(...args))),
        );
      };
    }
    const ofKeys = OF_EVERY_KEY[name];
    return (
      ofKeys &&
      (async (...keys) => ofKeys(await Promise.all(keys.flat().map((key) => callOf(cluster, name)(key)))))
    );
  };
  const special: Readonly<Record<string, unknown>> = {
    duplicate: () => ({ monitor: () => monitorAll(cluster) }),
  };
  return new Proxy(cluster, {
    get(target, name) {
      const own = typeof name === 'string' ? (special[name] ?? ask(name)) : undefined;
      const value: unknown = own ?? Reflect.get(target, name);
      return typeof value === 'function' && own === undefined ? value.bind(target) : value;
    },
  }) as unknown as Redis;
}
