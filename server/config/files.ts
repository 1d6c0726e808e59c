import { createPrivateKey, X509Certificate } from 'node:crypto';
import { accessSync, closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OPERATIONS } from '../core/operations.ts';
import { certificatesIn } from '../core/pem.ts';
import { Secret } from '../core/secret.ts';
import type { AuditSink, NetworkTokenRequester, PriceTable } from '../core/settings.ts';
import { errorCode } from './folder.ts';
import { BadValue, type Parse, rejectValue } from './reader.ts';
import { parseFilePath, parseHost } from './values.ts';

const FILE_BYTES_MAX = 1_048_576;

/**
 * Rejects a file that another user can read, or owns and so can replace. A file of root may be readable by its group, since
 * Kubernetes secrets and systemd credentials give files to processes of other users that way.
 */
export function checkPrivate({ mode, uid }: { readonly mode: number; readonly uid: number }): void {
  const own = process.getuid?.();
  if (uid !== 0 && uid !== (own ?? uid)) {
    rejectValue('names a file that belongs to another user; run chown on it');
  }
  if ((mode & (uid === 0 && own !== 0 ? 0o037 : 0o077)) !== 0) {
    rejectValue('names a file that other users can read; run chmod 400 on it');
  }
}

/** The text of a file that a setting names. The checks use the descriptor, so the file cannot be replaced between them. */
function read(path: string, isPrivate: boolean): string {
  try {
    const descriptor = openSync(parseFilePath(path), 'r');
    try {
      const stat = fstatSync(descriptor);
      if (!stat.isFile()) {
        rejectValue('must name a file');
      }
      if (stat.size > FILE_BYTES_MAX) {
        rejectValue('names a file of more than 1 MB');
      }
      if (isPrivate) {
        checkPrivate(stat);
      }
      return readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof BadValue) {
      throw error;
    }
    // The code of a system error contains no path.
    const cause = errorCode(error);
    throw new BadValue(`names a file that cannot be read (${cause})`, { cause });
  }
}

/** The text of a file that other users cannot read. */
export const readPrivateFile: Parse<string> = (path) => read(path, true);

/** The path of a program that this user can execute. */
export const parseExecutable: Parse<string> = (text) => {
  const path = parseFilePath(text);
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : rejectValue('must name a program');
  } catch (error) {
    if (error instanceof BadValue) {
      throw error;
    }
    return rejectValue(`names a program that cannot be run (${errorCode(error)})`);
  }
};

/** The path of a file to append to, which need not exist: its folder does, and this user can write there. */
export const parseAppendedFile: Parse<string> = (text) => {
  const path = parseFilePath(text);
  const folder = dirname(path);
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory()) {
      rejectValue('must name a file, and names a folder');
    }
    if (stat === undefined && !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
      rejectValue('names a file in a folder that does not exist');
    }
    accessSync(stat === undefined ? folder : path, constants.W_OK);
    return path;
  } catch (error) {
    if (error instanceof BadValue) {
      throw error;
    }
    return rejectValue(`names a file that cannot be written (${errorCode(error)})`);
  }
};

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
    : { kind: 'file', path: parseAppendedFile(text) };
};

/** The PEM text of a file with at least one certificate, all of them valid X.509. */
export const parseCertificates: Parse<string> = (path) => {
  const pem = read(path, false);
  const blocks = certificatesIn(pem);
  if (blocks.length === 0) {
    return rejectValue('names a file without a PEM certificate');
  }
  try {
    for (const block of blocks) {
      new X509Certificate(block);
    }
    return pem;
  } catch {
    return rejectValue('names a file with a certificate that cannot be read');
  }
};

/** Like `parseCertificates`, for a certificate of this server: the first one must be within its validity period. */
export const parseOwnCertificates: Parse<string> = (path) => {
  const pem = parseCertificates(path);
  const { validFromDate, validToDate } = new X509Certificate(pem);
  if (validToDate.getTime() <= Date.now()) {
    rejectValue('names a certificate that has expired');
  }
  return validFromDate.getTime() > Date.now()
    ? rejectValue('names a certificate that is not valid yet')
    : pem;
};

/** The end of the first certificate of a PEM text, RFC 3339. */
export function endOfCertificate(pem: string): string {
  return new X509Certificate(pem).validToDate.toISOString();
}

/** True if a PEM text is the unencrypted private key of a certificate. */
export function isPrivateKeyOf(cert: string, pem: Secret<string>): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(pem.expose()));
  } catch {
    return false;
  }
}

/** The value of a JSON text that matches a schema. The error names the place of the first invalid value, never the value. */
function parseJson<Schema extends TSchema>(text: string, schema: Schema): Static<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return rejectValue('names a file that is not valid JSON');
  }
  if (Value.Check(schema, value)) {
    return value;
  }
  const place = Value.Errors(schema, value)
    .First()
    ?.path.replaceAll(/[^\w/.-]/g, '?')
    .slice(0, 80);
  return rejectValue(`names a file with an invalid value at ${place === '' ? 'its top level' : place}`);
}

/** A decimal number as text, so that prices are exact. */
const Amount = Type.String({ pattern: '^(0|[1-9][0-9]{0,8})(\\.[0-9]{1,8})?$' });

const Prices = Type.Object(
  {
    currency: Type.String({ pattern: '^[A-Z]{3}$' }),
    prices: Type.Partial(
      Type.Record(Type.Union(OPERATIONS.map((operation) => Type.Literal(operation))), Amount, {
        additionalProperties: false,
      }),
    ),
    default: Amount,
  },
  { additionalProperties: false },
);

/** The price table if no file is configured: everything is free. */
export const NO_PRICES: PriceTable = Object.freeze({
  currency: 'USD',
  prices: Object.freeze({}),
  default: '0',
});

/** Reads the file of unit prices; unknown operations are rejected. */
export const parsePrices: Parse<PriceTable> = (path) => parseJson(read(path, false), Prices);

/** The file of network token requesters: an array of at most 1000. */
const Requesters = Type.Array(
  Type.Object(
    {
      id: Type.String({ pattern: '^[A-Za-z0-9._@:-]{1,128}$' }),
      url: Type.String({ maxLength: 2048 }),
      headers: Type.Record(Type.String(), Type.String({ pattern: '^[\\x20-\\x7e]*$', maxLength: 8192 })),
      client_cert_id: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9._@:-]{1,128}$' })),
    },
    { additionalProperties: false },
  ),
  { maxItems: 1000 },
);

/** True for an https URL without credentials. */
function isHttps(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
}

/** Reads the private file of network token requesters. Ids must be unique, URLs https, and header names valid (RFC 9110). */
export const parseRequesters: Parse<readonly NetworkTokenRequester[]> = (path) => {
  const entries = parseJson(readPrivateFile(path), Requesters);
  const ids = new Set(entries.map((entry) => entry.id));
  if (ids.size < entries.length) {
    return rejectValue('names a file that contains the same id twice');
  }
  if (ids.has('sim')) {
    return rejectValue('names a file that contains the built-in id sim');
  }
  if (!entries.every((entry) => isHttps(entry.url))) {
    return rejectValue('names a file with a URL that is not https');
  }
  if (
    entries.some((entry) => Object.keys(entry.headers).some((name) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name)))
  ) {
    return rejectValue('names a file with an invalid header name');
  }
  return Object.freeze(
    entries.map(({ id, url, headers, client_cert_id }) =>
      Object.freeze({ id, url, headers: new Secret(Object.freeze(headers)), client_cert_id }),
    ),
  );
};
