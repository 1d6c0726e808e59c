import type { ClientRequest } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { checkServerIdentity, type SecureContext, type TLSSocket } from 'node:tls';
import { VaultError } from '../core/errors.ts';
import { normalAddress } from './addresses.ts';
import {
  type FailureReason,
  failure,
  MIN_VERSION,
  type OutboundFailure,
  type OutboundLimits,
  type OutboundRequest,
  type OutboundResult,
} from './call.ts';
import type { Destination } from './destination.ts';
import { readReply } from './reply.ts';
import { watchWire } from './wire.ts';

const USER_AGENT = 'cardvault';

/** Flat, as node:http takes a list that keeps its order and its repeated names. */
const wireHeaders = ({ method, headers, body }: OutboundRequest, { authority }: Destination): string[] => {
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  const list: [string, string][] = [
    ['Host', authority],
    ...headers.map(([n, v]): [string, string] => [n, v]),
  ];
  if (!names.has('user-agent')) {
    list.push(['User-Agent', USER_AGENT]);
  }
  if (!names.has('accept-encoding')) {
    list.push(['Accept-Encoding', 'identity']);
  }
  if (body !== undefined || method === 'POST' || method === 'PUT' || method === 'PATCH') {
    list.push(['Content-Length', String(body?.length ?? 0)]);
  }
  return list.flat();
};

/**
 * The last look before the first byte: the runtime verified the chain and the dates, the peer is one of the
 * vetted addresses, and the certificate names the host as a subject alternative name (RFC 9525: the common
 * name does not count). It repeats what the options ask for, so that no option and no setting of the
 * environment that got lost on the way can send data to somebody else.
 */
const isTrusted = (
  socket: TLSSocket,
  { host, isAddress }: Destination,
  pinned: readonly string[],
): boolean => {
  const certificate = socket.getPeerCertificate();
  const names = certificate.subjectaltname ?? '';
  return (
    socket.authorized &&
    pinned.includes(normalAddress(socket.remoteAddress ?? '') ?? '') &&
    names.includes(isAddress ? 'IP Address:' : 'DNS:') &&
    checkServerIdentity(host, certificate) === undefined
  );
};

/** What one exchange needs, all of it checked. */
export interface Exchange {
  readonly call: OutboundRequest;
  readonly destination: Destination;
  /** Permitted ones, normal form, in the order in which they are tried. */
  readonly addresses: readonly string[];
  readonly context: SecureContext;
  readonly limits: OutboundLimits;
  readonly remainingMs: number;
}

/** The types leave out what node:tls is handed on. */
type ContextOptions = RequestOptions & { readonly secureContext: SecureContext };

const requestOptions = ({ call, destination, addresses, context, limits }: Exchange): ContextOptions => ({
  method: call.method,
  host: destination.host,
  port: destination.port,
  path: destination.path,
  headers: wireHeaders(call, destination),
  setHost: false,
  agent: false,
  insecureHTTPParser: false,
  maxHeaderSize: limits.replyHeaderBytes,
  rejectUnauthorized: true,
  minVersion: MIN_VERSION,
  secureContext: context,
  ...(destination.isAddress ? {} : { servername: destination.host }),
  lookup: (_name, options, callback) => {
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const [first] = found;
    if (options.all === true || first === undefined) {
      callback(null, found);
    } else {
      callback(null, first.address, first.family);
    }
  },
});

/** The runtime's codes for chains, dates and names that it does not take. */
const CERTIFICATE_CODE = /CERT|SIGNATURE|ISSUER|CHAIN|CRL|PURPOSE|EXTENSION|UNSPECIFIED/;

const isAboutCertificate = (error: Error & { readonly code?: unknown }): boolean =>
  typeof error.code === 'string' && CERTIFICATE_CODE.test(error.code);

/** Connects, and hands over the request only to a peer that is trusted; ends with the connection destroyed. */
export const exchange = (given: Exchange): Promise<OutboundResult> => {
  const { call, destination, addresses, limits, remainingMs } = given;
  const { promise, resolve, reject } = Promise.withResolvers<OutboundResult>();
  const outgoing = startRequest(given);
  let sent = false;
  let answered = false;
  let finished = false;
  const finish = (result: OutboundResult): void => {
    if (finished) {
      return;
    }
    clearTimeout(connectTimer);
    clearTimeout(deadline);
    finished = true;
    outgoing.destroy();
    resolve(result);
  };
  const fail = (code: OutboundFailure['code'], reason?: FailureReason): void =>
    finish(failure(code, sent, reason));
  const breakOff = (): void => fail('target_unreachable', sent ? 'broken_off' : 'connection');
  const connectTimer = setTimeout(() => sent || fail('target_timeout'), limits.connectMs);
  const deadline = setTimeout(() => fail('target_timeout'), remainingMs);

  const hand = (socket: TLSSocket): void => {
    if (finished || !isTrusted(socket, destination, addresses)) {
      fail('target_unreachable', 'certificate');
      return;
    }
    try {
      call.onWritten?.();
    } catch (error) {
      reject(error);
      breakOff();
      return;
    }
    sent = true;
    outgoing.end(call.body);
  };
  // Errors that come after the end find nobody waiting, but would end the process without a listener.
  outgoing.on('error', (error) =>
    !sent && isAboutCertificate(error) ? fail('target_unreachable', 'certificate') : breakOff(),
  );
  outgoing.on('close', () => answered || breakOff());
  outgoing.on('upgrade', (_response, socket) => {
    socket.destroy();
    breakOff();
  });
  watchWire(outgoing, limits, (code) => (code === 'target_unreachable' ? breakOff() : fail(code)));
  outgoing.on('socket', (socket) => socket.once('secureConnect', () => hand(socket as TLSSocket)));
  outgoing.on('response', async (response) => {
    answered = true;
    response.on('error', () => undefined);
    const reply = await readReply(response, limits.replyBodyBytes);
    if (typeof reply !== 'string') {
      finish({ ok: true, ...reply });
    } else if (reply === 'target_unreachable') {
      breakOff();
    } else {
      fail(reply);
    }
  });
  return promise;
};

/** No text of an error gets out: it could hold a header's value or a part of a key. */
const startRequest = (given: Exchange): ClientRequest => {
  try {
    return request(requestOptions(given));
  } catch (error) {
    throw new VaultError('internal', { cause: error });
  }
};
