import { afterAll } from 'bun:test';
import dns from 'node:dns';
import net from 'node:net';
import ipaddr from 'ipaddr.js';
import { stopSharedRedis } from './helpers/redis.ts';

/**
 * Keeps the tests on this machine: whoever tries to reach anything but loopback and unix sockets gets an
 * error. node:http, node:https, node:tls and ioredis all connect through `net.Socket`.
 */
function isLocal(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (bare === '' || bare === 'localhost' || bare.endsWith('.localhost')) {
    return true;
  }
  return ipaddr.isValid(bare) && ['loopback', 'unspecified'].includes(ipaddr.process(bare).range());
}

function requireLocal(host: string): void {
  if (!isLocal(host)) {
    throw new Error(`Tests may not reach ${host}`);
  }
}

type Lookup = (
  host: string,
  options: object,
  callback: (error: Error | null, ...found: unknown[]) => void,
) => void;

interface ConnectOptions {
  readonly host?: string;
  readonly hostname?: string;
  readonly path?: string | null;
  lookup?: Lookup;
}

function addressesOf(found: unknown): string[] {
  return Array.isArray(found) ? found.map(({ address }) => String(address)) : [String(found)];
}

/** A name that a test resolves by itself may be any name, as long as it stands for this machine. */
function localLookup(lookup: Lookup): Lookup {
  return (host, options, callback) =>
    lookup(host, options, (error, ...found) => {
      const away = error === null ? addressesOf(found[0]).find((address) => !isLocal(address)) : undefined;
      if (away === undefined) {
        callback(error, ...found);
      } else {
        callback(new Error(`Tests may not reach ${away}`));
      }
    });
}

function guardConnect(options: ConnectOptions): void {
  if (typeof options.path === 'string') {
    return;
  }
  const host = options.host ?? options.hostname ?? '';
  if (options.lookup !== undefined && !ipaddr.isValid(host)) {
    options.lookup = localLookup(options.lookup);
  } else {
    requireLocal(host);
  }
}

const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function guarded(this: net.Socket, ...parameters: unknown[]) {
  const first = Array.isArray(parameters[0]) ? parameters[0][0] : parameters[0];
  if (typeof first === 'object' && first !== null) {
    guardConnect(first);
  } else if (typeof first === 'number' && typeof parameters[1] === 'string') {
    requireLocal(parameters[1]);
  }
  return Reflect.apply(connect, this, parameters);
} as typeof connect;

const fetchAnywhere = globalThis.fetch;
globalThis.fetch = Object.assign(
  async (...parameters: Parameters<typeof fetch>) => {
    const target = parameters[0] instanceof Request ? parameters[0].url : String(parameters[0]);
    requireLocal(new URL(target).hostname);
    return fetchAnywhere(...parameters);
  },
  { preconnect: () => undefined },
);

const lookupAnywhere = dns.promises.lookup;
dns.promises.lookup = (async (host: string, ...rest: []) => {
  requireLocal(host);
  return lookupAnywhere(host, ...rest);
}) as typeof lookupAnywhere;

afterAll(stopSharedRedis);
