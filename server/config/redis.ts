import { Secret } from '../core/secret.ts';
import { type Parse, rejectValue } from './reader.ts';

/** The address of Redis. URLs may contain passwords; `shown` does not. */
export type RedisSetting =
  | { readonly kind: 'embedded' }
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'url'; readonly url: Secret<string>; readonly shown: string }
  | { readonly kind: 'cluster'; readonly urls: Secret<readonly string[]>; readonly shown: string };

/** The reason for a text of another form. */
const EXPECTED =
  'must be redis://host:port, rediss://host:port or unix:/path; for a Cluster, several of the first two, comma-separated';

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

/** The URL for the start log. */
function withoutPassword(url: URL): string {
  const user = url.username === '' && url.password === '' ? '' : `${url.username}:[secret]@`;
  return `${url.protocol}//${user}${url.host}${url.pathname}`;
}

/** What all nodes of a Cluster must have in common. */
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

/** Parses `VAULT_REDIS_URL`: one server, a Unix socket, or several nodes of a Cluster, comma-separated. */
export const parseRedisUrl: Parse<RedisSetting> = (text) => {
  if (text.startsWith('unix:')) {
    return parseSocket(text);
  }
  const parts = text.split(',').map((part) => part.trim());
  if (parts.length > 1) {
    return parseCluster(parts);
  }
  const url = parseNode(text);
  return { kind: 'url', url: new Secret(url.href), shown: withoutPassword(url) };
};

/** The address for the start log, without passwords. */
export function showRedis(setting: RedisSetting): string {
  if (setting.kind === 'embedded') {
    return 'embedded redis-server';
  }
  return setting.kind === 'socket' ? `unix:${setting.path}` : setting.shown;
}
