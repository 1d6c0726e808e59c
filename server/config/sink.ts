import { type Parse, rejectValue } from './reader.ts';
import { parseFilePath, parseHost } from './values.ts';

/** Where access events are delivered. */
export type AuditSink =
  | { readonly kind: 'stdout' }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'syslog'; readonly host: string; readonly port: number; readonly tls: boolean };

const SYSLOG = /^syslog\+(tcp|tls):\/\/(?:\[([^\]]+)\]|([^/:@?#[\]]+)):([1-9]\d{0,4})$/;

/** `stdout`, a file, `syslog+tcp://host:port` or `syslog+tls://host:port`; IPv6 in brackets. */
export const parseAuditSink: Parse<AuditSink> = (text) => {
  if (text === 'stdout') {
    return { kind: 'stdout' };
  }
  const [, transport, address, name, port] = SYSLOG.exec(text) ?? [];
  if (port !== undefined && Number(port) <= 65_535) {
    const host = parseHost(address ?? name ?? '');
    return { kind: 'syslog', host, port: Number(port), tls: transport === 'tls' };
  }
  return text.includes('://') || text.startsWith('syslog')
    ? rejectValue('must be stdout, a file, syslog+tcp://host:port or syslog+tls://host:port')
    : { kind: 'file', path: parseFilePath(text) };
};
