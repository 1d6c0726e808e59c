import { createPrivateKey, X509Certificate } from 'node:crypto';
import { accessSync, closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { Secret } from '../core/secret.ts';
import { errorCode } from './folder.ts';
import { BadValue, type Parse, refuse } from './reader.ts';
import { parsePath } from './values.ts';

const FILE_BYTES_MAX = 1_048_576;

const unreadable = (error: unknown): never => {
  if (error instanceof BadValue) {
    throw error;
  }
  throw new BadValue(`names a file that cannot be read (${errorCode(error)})`, { cause: errorCode(error) });
};

/**
 * Whether others than this process may read a file. Where root hands a file to a process of another user (secrets of
 * Kubernetes, credentials of systemd), its group, or the mask of its access list, is how that process reads it.
 */
const isOpenToOthers = ({ mode, uid }: { readonly mode: number; readonly uid: number }): boolean => {
  const isHandedOn = uid === 0 && process.getuid?.() !== 0;
  return (mode & (isHandedOn ? 0o037 : 0o077)) !== 0;
};

const read = (path: string, isPrivate: boolean): string => {
  try {
    const descriptor = openSync(parsePath(path), 'r');
    try {
      const stat = fstatSync(descriptor);
      if (!stat.isFile()) {
        refuse('must name a file');
      }
      if (stat.size > FILE_BYTES_MAX) {
        refuse('names a file of more than 1 MB');
      }
      if (isPrivate && isOpenToOthers(stat)) {
        refuse('names a file that others may read; chmod 400 it');
      }
      return readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return unreadable(error);
  }
};

/** The text of a file that must not be readable by others, nor by its group unless root hands it on by that. */
export const readPrivateFile: Parse<string> = (path) => read(path, true);

/** A program that this user may run. */
export const parseExecutable: Parse<string> = (text) => {
  const path = parsePath(text);
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? path : refuse('must name a program');
  } catch (error) {
    if (error instanceof BadValue) {
      throw error;
    }
    return refuse(`names a program that cannot be run (${errorCode(error)})`);
  }
};

/** The PEM text of a file with at least one certificate, every one of which can be read. */
export const parseCertificates: Parse<string> = (path) => {
  const pem = read(path, false);
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) {
    return refuse('names a file without a PEM certificate');
  }
  try {
    for (const block of blocks) {
      new X509Certificate(block);
    }
    return pem;
  } catch {
    return refuse('names a file with a certificate that cannot be read');
  }
};

/** As `parseCertificates`, for the certificate that the server shows: the first one, which must be valid now. */
export const parseServerCertificates: Parse<string> = (path) => {
  const pem = parseCertificates(path);
  const { validFromDate, validToDate } = new X509Certificate(pem);
  if (validToDate.getTime() <= Date.now()) {
    refuse('names a certificate that has expired');
  }
  return validFromDate.getTime() > Date.now() ? refuse('names a certificate that is not valid yet') : pem;
};

const isPrivateKeyOf = (cert: string, pem: string): boolean => {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(pem));
  } catch {
    return false;
  }
};

/** The PEM text of the private key's file that belongs to a certificate; `undefined` where there is none. */
export const privateKeyOf =
  (cert: string | undefined): Parse<Secret<string>> =>
  (path) => {
    const pem = read(path, false);
    return cert === undefined || isPrivateKeyOf(cert, pem)
      ? new Secret(pem)
      : refuse('does not name the unencrypted PEM private key of VAULT_TLS_CERT_FILE');
  };

const readJson = <Schema extends TSchema>(path: string, schema: Schema): Static<Schema> => {
  let value: unknown;
  try {
    value = JSON.parse(read(path, false));
  } catch (error) {
    return error instanceof SyntaxError ? refuse('names a file that is not valid JSON') : unreadable(error);
  }
  if (Value.Check(schema, value)) {
    return value;
  }
  const place = Value.Errors(schema, value)
    .First()
    ?.path.replaceAll(/[^\w/.-]/g, '?')
    .slice(0, 80);
  return refuse(`names a file with a wrong value at ${place === '' ? 'its top' : place}`);
};

const OPERATIONS = [
  ...['store', 'decrypt', 'list', 'update', 'delete', 'log', 'capture_create', 'capture', 'retrieve_create'],
  ...['retrieve', 'key', 'rule', 'proxy_attempt', 'network_token', 'certificate', 'preference', 'utility'],
] as const;

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

/** Unit prices as decimal strings, by billable operation. */
export interface PriceTable {
  readonly currency: string;
  readonly prices: Readonly<Record<string, string>>;
  readonly default: string;
}

export const NO_PRICES: PriceTable = Object.freeze({
  currency: 'USD',
  prices: Object.freeze({}),
  default: '0',
});

export const parsePrices: Parse<PriceTable> = (path) => readJson(path, Prices);

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

/** A network token requester; its headers hold the credentials. */
export interface NetworkTokenRequester {
  readonly id: string;
  readonly url: string;
  readonly headers: Secret<Readonly<Record<string, string>>>;
  readonly client_cert_id: string | undefined;
}

const isHttps = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
};

export const parseRequesters: Parse<readonly NetworkTokenRequester[]> = (path) => {
  const entries = readJson(path, Requesters);
  const ids = new Set(entries.map((entry) => entry.id));
  if (ids.size < entries.length) {
    return refuse('names a file that holds the same id twice');
  }
  if (ids.has('sim')) {
    return refuse('names a file that holds the id sim, which is built in');
  }
  if (!entries.every((entry) => isHttps(entry.url))) {
    return refuse('names a file with a URL that is not https');
  }
  if (
    entries.some((entry) => Object.keys(entry.headers).some((name) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name)))
  ) {
    return refuse('names a file with a bad header name');
  }
  const requesters = entries.map(({ id, url, headers, client_cert_id }) =>
    Object.freeze({ id, url, headers: new Secret(Object.freeze(headers)), client_cert_id }),
  );
  return Object.freeze(requesters);
};
