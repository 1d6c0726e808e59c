import { createHmac } from 'node:crypto';
import type { HeaderEntries } from '../../../server/core/headers.ts';
import {
  type Connection,
  payloadPartsOf,
  readConnection,
  showConnection,
} from '../../../server/domain/connection/connection.ts';
import { secretTexts } from '../../../server/domain/connection/secrets.ts';
import { parseStoredObject } from '../../../server/domain/json/json.ts';
import { readableCodings, replaceHeaders } from '../../../server/domain/relay/headers.ts';
import { equalBytes } from '../../crypto/primitives/bytes.ts';
import { parseOwn, type ThreadContext, type ThreadHandlers, toJsonBytes } from '../context.ts';
import type { CONNECTION_JOBS } from './jobs.ts';

const KIND = 'connection';

/** Opens a connection with its credentials, which stay in this thread; that of the previous job is cached. */
export function openConnection(
  { sealer, openings }: ThreadContext,
  { aid, id }: { readonly aid: string; readonly id: string },
  record: Uint8Array,
): Connection {
  const last = openings.connection;
  if (last?.aid === aid && last.id === id && equalBytes(last.record, record)) {
    return last.opened;
  }
  const opened = parseOwn<Connection>(sealer.open('record', aid, KIND, [id], record));
  openings.connection = { aid, id, record, opened };
  return opened;
}

interface Signed {
  readonly method: string;
  readonly url: string;
  readonly body: Uint8Array;
}

function signatureOf({ sign }: Connection, { method, url, body }: Signed, now: number): HeaderEntries {
  if (sign === undefined) {
    return [];
  }
  const path = url.slice(url.indexOf('/', 'https://'.length));
  const timestamp = String(Math.floor(now / 1_000));
  const values = { method, path, body, timestamp };
  const digest = createHmac(sign.algorithm.replace('hmac-', '').replace('-', ''), sign.key);
  for (const part of payloadPartsOf(sign.payload)) {
    digest.update('tag' in part ? values[part.tag] : part.text);
  }
  return [
    ['X-Vault-Timestamp', timestamp],
    [sign.header, digest.digest('hex')],
  ];
}

/** The headers of a request with those of its connection, which replace others of the same name, and the signature last. */
export function connectedHeaders(
  connection: Connection,
  sent: Signed & { readonly headers: HeaderEntries },
  now: number,
): HeaderEntries {
  const signature = signatureOf(connection, sent, now);
  return replaceHeaders(replaceHeaders(sent.headers, connection.headers), signature);
}

/** The content codings to ask for; undefined for the choice of the caller. */
function codingsFor(accepted: string | undefined, secrets: readonly string[]): string | undefined {
  if (accepted !== undefined) {
    return readableCodings(accepted);
  }
  // A reply that is passed on as it comes is not decoded.
  return secrets.length > 0 ? 'identity' : undefined;
}

/** A request as it is forwarded, before the headers of its connection. */
interface Passing {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: HeaderEntries;
  readonly body: Uint8Array;
}

/**
 * A request as its connection sends it, and the values of the connection that its reply must not show. `accepted`: the content
 * codings that its caller accepts, if the reply is searched or changed.
 */
export function outgoingRequest(
  connection: Connection,
  { method, path, query, headers: given, body }: Passing,
  accepted: string | undefined,
  now: number,
) {
  const secrets = secretTexts(connection);
  const url = `${connection.baseUrl}${path}${query}`;
  const codings = codingsFor(accepted, secrets);
  const headers = codings === undefined ? given : replaceHeaders(given, [['Accept-Encoding', codings]]);
  const connected = connectedHeaders(connection, { method, url, headers, body }, now);
  const request = { method, url, headers: connected, body: body.length === 0 ? undefined : body };
  return { request, secrets };
}

export const CONNECTION_HANDLERS: ThreadHandlers<typeof CONNECTION_JOBS> = {
  sealConnection(context, { params, previous, body }) {
    const { aid, now } = params;
    const old = previous && openConnection(context, { aid, id: params.id ?? '' }, previous);
    const { id, settings } = readConnection(parseStoredObject(body), { ...params, previous: old });
    const createdAt = old?.createdAt ?? now;
    const connection: Connection = { ...settings, createdAt, updatedAt: now };
    return {
      id,
      origin: `${new URL(settings.baseUrl).origin}/`,
      shown: showConnection(id, connection),
      record: context.sealer.seal('record', aid, KIND, [id], toJsonBytes(connection)),
    };
  },

  describeConnections(context, { aid, connections }) {
    return connections.map(({ id, record }) =>
      showConnection(id, openConnection(context, { aid, id }, record)),
    );
  },
};
