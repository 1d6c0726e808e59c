import { Secret } from '../core/secret.ts';
import type { RedisCredentials, SentinelGroup } from '../core/settings.ts';
import { type Parse, rejectValue } from './reader.ts';

/** The address of Redis. URLs may contain passwords; `shown` does not. */
export type RedisSetting =
  | { readonly kind: 'embedded' }
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'url'; readonly url: Secret<string>; readonly shown: string }
  | { readonly kind: 'cluster'; readonly urls: Secret<readonly string[]>; readonly shown: string }
  | { readonly kind: 'sentinel'; readonly group: Secret<SentinelGroup>; readonly shown: string };

/** The reason for a text of another form. */
const EXPECTED =
  'must be redis://host:port, rediss://host:port, redis+sentinel://host:port/name or unix:/path; for a Cluster, several of the first two, comma-separated';

/** `unix:/path` or `unix:///path`; at most 107 bytes, as unix(7) allows. */
const parseSocket: Parse<RedisSetting> = (text) => {
  const [, path] = /^unix:(?:\/\/)?(\/[^/?#\0][^?#\0]*)$/.exec(text) ?? [];
  if (path === undefined) {
    return rejectValue('must be unix:/path for a unix socket, with an absolute path and no query');
  }
  if (Buffer.byteLength(path) > 107) {
    rejectValue('must be a socket path of at most 107 bytes');
  }
  return { kind: 'socket', path };
};

/** Checks that credentials are percent-encoded (RFC 3986). */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return rejectValue('must contain user name and password percent-encoded');
  }
}

/** One `redis:` or `rediss:` URL, with its port. */
function parseNode(text: string): URL {
  if (!/^rediss?:\/\/[^/]/.test(text) || !URL.canParse(text) || /\s/.test(text)) {
    return rejectValue(EXPECTED);
  }
  const url = new URL(text);
  if (url.hostname === '') {
    rejectValue(EXPECTED);
  }
  decode(url.username);
  decode(url.password);
  if (/[?#]/.test(text)) {
    rejectValue('must not contain a query or fragment');
  }
  if (!/^(?:\/|\/(?:0|[1-9]\d{0,3}))?$/.test(url.pathname)) {
    rejectValue('must not contain a path other than a database number');
  }
  if (url.port === '') {
    url.port = '6379';
  }
  return url;
}

function withoutPassword(url: URL): string {
  const user = url.username === '' && url.password === '' ? '' : `${url.username}:[secret]@`;
  return `${url.protocol}//${user}${url.host}${url.pathname}`;
}

/** The scheme and the credentials, which must be equal for all nodes of a Cluster. */
function access(url: URL): string {
  return JSON.stringify([url.protocol, url.username, url.password]);
}

// Hosts after the first may omit scheme and credentials, which are the same for all nodes of a Cluster.
function parseCluster(parts: readonly string[]): RedisSetting {
  const first = parseNode(parts[0] ?? '');
  const prefix = first.href.slice(0, first.href.lastIndexOf(first.host));
  const nodes = parts.map((part) => parseNode(part.includes('://') ? part : prefix + part));
  if (nodes.some((node) => access(node) !== access(first))) {
    rejectValue('must have the same scheme, user name and password for every node of a Cluster');
  }
  if (nodes.some((node) => !/^\/?0?$/.test(node.pathname))) {
    rejectValue('must not select a database on a Cluster');
  }
  const hosts = nodes.map((node) => node.host);
  if (new Set(hosts).size < hosts.length) {
    rejectValue('contains the same host twice');
  }
  return {
    kind: 'cluster',
    urls: new Secret(nodes.map((node) => node.href)),
    shown: nodes.map(withoutPassword).join(','),
  };
}

const SENTINEL_URL =
  /^redis(?<tls>s?)\+sentinel:\/\/(?:(?<access>[^@/?#]*)@)?(?<hosts>[^@/?#]+)\/(?<name>[\w.-]{1,128})(?:\/(?<database>0|[1-9]\d{0,3}))?(?:\?(?<query>[^?#]*))?$/;

const SENTINEL_EXPECTED =
  'must have the form redis+sentinel://user:password@host:port,host:port/name/database, of which only a host and the name are needed';

/** `user:password`, percent-encoded. */
function parseCredentials(text: string): RedisCredentials {
  const [, username = '', password = ''] = /^([^:]*):?(.*)$/.exec(text) ?? [];
  return { username: decode(username), password: decode(password) };
}

/** The credentials for the Sentinels themselves: `sentinel_user` and `sentinel_password`. */
function parseSentinelQuery(query: string | undefined): RedisCredentials | undefined {
  const given = (query ?? '').split('&').flatMap((part) => {
    const [, name = '', value = ''] = /^([^=]*)=(.+)$/.exec(part) ?? [];
    return part === '' ? [] : [[name, decode(value)] as const];
  });
  const names = given.map(([name]) => name);
  if (!names.every((name) => name === 'sentinel_user' || name === 'sentinel_password')) {
    rejectValue('must not contain a query other than sentinel_user=… and sentinel_password=…');
  }
  const { sentinel_user: username = '', sentinel_password: password = '' } = Object.fromEntries(given);
  if (new Set(names).size < names.length || (given.length > 0 && password === '')) {
    rejectValue('must contain sentinel_password once, and sentinel_user only with it');
  }
  return given.length === 0 ? undefined : { username, password };
}

/** Sentinels, comma-separated, then the name of the servers that they watch. */
function parseSentinel(text: string): RedisSetting {
  const found = SENTINEL_URL.exec(text.replaceAll(/, +/g, ','))?.groups;
  if (found === undefined) {
    return rejectValue(SENTINEL_EXPECTED);
  }
  const { tls, access = '', hosts = '', name = '', database = '0', query } = found;
  const nodes = hosts.split(',').map((host) => {
    if (!/^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d+)?$/i.test(host) || !URL.canParse(`redis://${host}`)) {
      rejectValue(SENTINEL_EXPECTED);
    }
    const url = new URL(`redis://${host}`);
    return { host: url.hostname.replaceAll(/[[\]]/g, ''), port: Number(url.port || 26_379) };
  });
  const shownHosts = nodes.map(({ host, port }) =>
    host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
  );
  if (new Set(shownHosts).size < nodes.length) {
    rejectValue('contains the same host twice');
  }
  const credentials = parseCredentials(access);
  const group: SentinelGroup = {
    ...{ sentinels: nodes, name, database: Number(database), isTls: tls === 's', credentials },
    sentinelCredentials: parseSentinelQuery(query),
  };
  const user = access === '' ? '' : `${encodeURIComponent(credentials.username)}:[secret]@`;
  const path = database === '0' ? name : `${name}/${database}`;
  const shown = `redis${tls}+sentinel://${user}${shownHosts.join(',')}/${path}`;
  return { kind: 'sentinel', group: new Secret(group), shown };
}

export function isRedisTls(setting: RedisSetting): boolean {
  return 'shown' in setting && setting.shown.startsWith('rediss');
}

/** Parses `VAULT_REDIS_URL`: one server, a Unix socket, nodes of a Cluster, or Sentinels with the name of a primary. */
export const parseRedisUrl: Parse<RedisSetting> = (text) => {
  if (text.startsWith('unix:')) {
    return parseSocket(text);
  }
  if (/^rediss?\+sentinel:/.test(text)) {
    return parseSentinel(text);
  }
  const parts = text.split(',').map((part) => part.trim());
  if (parts.length > 1) {
    return parseCluster(parts);
  }
  const url = parseNode(text);
  return { kind: 'url', url: new Secret(url.href), shown: withoutPassword(url) };
};

export function showRedis(setting: RedisSetting): string {
  if (setting.kind === 'embedded') {
    return 'embedded redis-server';
  }
  return setting.kind === 'socket' ? `unix:${setting.path}` : setting.shown;
}
