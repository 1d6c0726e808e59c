import type { ClientRequest } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { checkServerIdentity, type SecureContext, type TLSSocket } from 'node:tls';
import { VaultError } from '../core/errors.ts';
import { normalAddress } from './addresses.ts';
import type { ConnectionAgent, ConnectionShare } from './agent.ts';
import {
  type FailureReason,
  MIN_VERSION,
  type OutboundFailure,
  type OutboundLimits,
  type OutboundRequest,
  type OutboundResult,
  outboundFailure,
  type StreamingRequest,
  type StreamingResult,
} from './call.ts';
import type { Destination } from './destination.ts';
import { type OpenReply, openReply, readReply } from './reply.ts';
import { limitReply } from './reply-limits.ts';

const USER_AGENT = 'cardvault';

/** A flat list, for which node:http keeps the order and duplicate names. */
function wireHeaders(
  { method, headers, bare, body }: HttpExchange['call'],
  { authority }: Destination,
): string[] {
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  const list: [string, string][] = [
    ['Host', authority],
    ...headers.map(([n, v]): [string, string] => [n, v]),
  ];
  if (!bare && !names.has('user-agent')) {
    list.push(['User-Agent', USER_AGENT]);
  }
  if (!bare && !names.has('accept-encoding')) {
    list.push(['Accept-Encoding', 'identity']);
  }
  if (body !== undefined || method === 'POST' || method === 'PUT' || method === 'PATCH') {
    list.push(['Content-Length', String(body?.length ?? 0)]);
  }
  return list.flat();
}

/** Whether the peer was verified and has one of these addresses; all that can differ where a connection is used again. */
function isPinned(socket: TLSSocket, pinned: readonly string[]): boolean {
  const { authorized, remoteAddress = '' } = socket;
  // An IPv4 address is in its normal form.
  return (
    authorized && (pinned.includes(remoteAddress) || pinned.includes(normalAddress(remoteAddress) ?? ''))
  );
}

/**
 * The final check before the first byte is sent: the runtime has verified the chain and the dates, the peer is one of the
 * checked addresses, and the certificate has the host as a subject alternative name (RFC 9525: the common name is ignored).
 * It repeats what the options require, so that a lost option or a setting of the environment cannot redirect data.
 */
function isTrusted(socket: TLSSocket, pinned: readonly string[], { host, isAddress }: Destination): boolean {
  if (!isPinned(socket, pinned)) {
    return false;
  }
  const certificate = socket.getPeerCertificate();
  const names = certificate.subjectaltname ?? '';
  return (
    names.includes(isAddress ? 'IP Address:' : 'DNS:') && checkServerIdentity(host, certificate) === undefined
  );
}

/** The checked input of one exchange. */
export interface HttpExchange {
  readonly call: OutboundRequest | StreamingRequest;
  readonly destination: Destination;
  /** Permitted addresses in normal form, in the order of connection attempts. */
  readonly addresses: readonly string[];
  readonly context: SecureContext;
  /** Keeps the connection for the owner's next request; false: it is used once. */
  readonly agent: ConnectionAgent | false;
  readonly limits: OutboundLimits;
  readonly remainingMs: number;
}

/** The types of node:https lack this option of node:tls. */
type ContextOptions = RequestOptions & ConnectionShare & { readonly secureContext: SecureContext };

function requestOptions({
  call,
  destination,
  addresses,
  context,
  agent,
  limits,
}: HttpExchange): ContextOptions {
  return {
    method: call.method,
    host: destination.host,
    port: destination.port,
    path: destination.path,
    headers: wireHeaders(call, destination),
    setHost: false,
    agent,
    share: [call.owner, ...addresses.toSorted()].join(' '),
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
  };
}

/** The runtime's error codes for invalid chains, dates and names. */
const CERTIFICATE_CODE = /CERT|SIGNATURE|ISSUER|CHAIN|CRL|PURPOSE|EXTENSION|UNSPECIFIED/;

function isAboutCertificate(error: Error & { readonly code?: unknown }): boolean {
  return typeof error.code === 'string' && CERTIFICATE_CODE.test(error.code);
}

/** Calls `sendTo` with the connection, once it is there and its TLS handshake is done. */
function onPeer(outgoing: ClientRequest, sendTo: (socket: TLSSocket) => void): void {
  outgoing.on('socket', (socket) => {
    if (outgoing.reusedSocket) {
      sendTo(socket as TLSSocket);
    } else {
      socket.once('secureConnect', () => sendTo(socket as TLSSocket));
    }
  });
}

/**
 * Connects, and sends the request only to a trusted peer. The connection is destroyed at the end, unless the whole request
 * was sent, the whole reply has come, and the agent keeps it.
 */
export function exchange(given: HttpExchange): Promise<OutboundResult | StreamingResult> {
  const { call, destination, addresses, limits, remainingMs } = given;
  const { promise, resolve, reject } = Promise.withResolvers<OutboundResult | StreamingResult>();
  const outgoing = startRequest(given);
  let sent = false;
  let answered = false;
  let finished = false;
  let opened: OpenReply | undefined;
  const end = (isWhole: boolean): void => {
    if (!finished) {
      clearTimeout(connectTimer);
      clearTimeout(deadline);
      finished = true;
      if (!(isWhole && outgoing.writableFinished)) {
        outgoing.destroy();
      }
    }
  };
  const fail = (code: OutboundFailure['code'], reason?: FailureReason): void => {
    end(false);
    resolve(outboundFailure(code, sent, reason));
    opened?.fail(new VaultError(code === 'target_unreachable' ? 'outcome_unknown' : code));
  };
  const failReply = (code: OutboundFailure['code']): void =>
    code === 'target_unreachable' ? failBroken() : fail(code);
  const failBroken = (): void => fail('target_unreachable', sent ? 'broken_off' : 'connection');
  const connectTimer = setTimeout(() => sent || fail('target_timeout'), limits.connectMs);
  const deadline = setTimeout(() => fail('target_timeout'), remainingMs);

  const sendTo = (socket: TLSSocket): void => {
    const isPeer = outgoing.reusedSocket ? isPinned : isTrusted;
    if (finished || !isPeer(socket, addresses, destination)) {
      fail('target_unreachable', 'certificate');
      return;
    }
    try {
      call.onWritten?.();
    } catch (error) {
      reject(error);
      failBroken();
      return;
    }
    sent = true;
    outgoing.end(call.body);
  };
  // An error after the end has no effect, but would end the process without a listener.
  outgoing.on('error', (error) =>
    !sent && isAboutCertificate(error) ? fail('target_unreachable', 'certificate') : failBroken(),
  );
  outgoing.on('close', () => answered || failBroken());
  limitReply(outgoing, limits, failReply);
  onPeer(outgoing, sendTo);
  outgoing.on('response', async (response) => {
    answered = true;
    response.on('error', () => undefined);
    if (call.stream) {
      opened = openReply(response, limits.replyBodyBytes, (code) => (code ? failReply(code) : end(true)));
      return opened ? resolve({ ok: true, ...opened.reply }) : failBroken();
    }
    const reply = await readReply(response, limits.replyBodyBytes);
    if (reply.kind === 'failed') {
      return failReply(reply.code);
    }
    const { status, headers, body } = reply;
    end(true);
    return resolve({ ok: true, status, headers, body });
  });
  return promise;
}

/** The message of an error is dropped, since it could contain a header's value or a part of a key. */
function startRequest(given: HttpExchange): ClientRequest {
  try {
    return request(requestOptions(given));
  } catch (error) {
    throw new VaultError('internal', { cause: error });
  }
}
