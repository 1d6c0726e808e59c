import { type ConnectionOptions, checkServerIdentity, type SecureContext, type TLSSocket } from 'node:tls';
import { VaultError } from '../core/errors.ts';
import { normalAddress } from './addresses.ts';
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
import type { Connection, ConnectionPool, ConnectionUser } from './connections.ts';
import type { Destination } from './destination.ts';
import { Collector, decodeReply, type OpenReply, type OutboundReply, openReply } from './reply.ts';
import { type ReplyFault, type ReplyHead, ReplyParser, type ReplySink, valuesOf } from './reply-parser.ts';

const USER_AGENT = 'cardvault';
const NO_BYTES = new Uint8Array(0);

/** The request as it is sent, in one piece; all names and values were checked. */
function wireBytes({ call, destination, isKept }: HttpExchange): Buffer {
  const { method, headers, bare, body } = call;
  let head = `${method} ${destination.path} HTTP/1.1\r\nHost: ${destination.authority}\r\n`;
  for (const [name, value] of headers) {
    head += `${name}: ${value}\r\n`;
  }
  if (!bare && valuesOf(headers, 'user-agent') === undefined) {
    head += `User-Agent: ${USER_AGENT}\r\n`;
  }
  if (!bare && valuesOf(headers, 'accept-encoding') === undefined) {
    head += 'Accept-Encoding: identity\r\n';
  }
  if (body !== undefined || method === 'POST' || method === 'PUT' || method === 'PATCH') {
    head += `Content-Length: ${body?.length ?? 0}\r\n`;
  }
  head += `Connection: ${isKept ? 'keep-alive' : 'close'}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(head.length + (body?.length ?? 0));
  bytes.write(head, 'latin1');
  bytes.set(body ?? NO_BYTES, head.length);
  return bytes;
}

/** Whether the peer was verified and has one of these addresses; all that can differ where a connection is used again. */
function isPinned(socket: TLSSocket, pinned: readonly string[]): boolean {
  const { authorized, remoteAddress = '' } = socket;
  return authorized && pinned.includes(normalAddress(remoteAddress) ?? '');
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
  readonly pool: ConnectionPool;
  /** Whether the connection is kept for the owner's next request, or used once. */
  readonly isKept: boolean;
  readonly limits: OutboundLimits;
  readonly remainingMs: number;
}

/** Whose connection it is, to whom, and at which addresses. */
function nameOf({ call, destination, addresses }: HttpExchange): string {
  const sorted = addresses.length > 1 ? addresses.toSorted() : addresses;
  return `${call.owner} ${destination.host} ${destination.port} ${sorted.join(' ')}`;
}

function connectionOptions({ destination, addresses, context }: HttpExchange): ConnectionOptions {
  return {
    host: destination.host,
    port: destination.port,
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

/** The message of an error is dropped, since it could contain a part of a key. */
function connectTo(given: HttpExchange, user: ConnectionUser): Connection {
  try {
    return given.pool.take(given.isKept ? nameOf(given) : undefined, () => connectionOptions(given), user);
  } catch (error) {
    throw new VaultError('internal', { cause: error });
  }
}

/** One request and its reply. Its connection is destroyed at the end, unless both were whole and it is kept. */
class Exchange implements ConnectionUser, ReplySink {
  readonly #given: HttpExchange;
  readonly #settled = Promise.withResolvers<OutboundResult | StreamingResult>();
  readonly #connection: Connection;
  readonly #parser: ReplyParser;
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  readonly #whole: Collector;
  #head: ReplyHead | undefined;
  #streamed: OpenReply | undefined;
  #isSent = false;
  #isOver = false;

  constructor(given: HttpExchange) {
    const { call, limits } = given;
    this.#given = given;
    this.#whole = new Collector(limits.replyBodyBytes);
    this.#parser = new ReplyParser(limits, call.method === 'HEAD', this);
    this.#connection = connectTo(given, this);
  }

  run(): Promise<OutboundResult | StreamingResult> {
    const { limits, remainingMs } = this.#given;
    this.#endAfter(remainingMs);
    if (this.#connection.isUsed) {
      this.onOpen();
    } else {
      this.#endAfter(limits.connectMs, () => this.#isSent);
    }
    return this.#settled.promise;
  }

  #endAfter(ms: number, isInTime = () => false): void {
    this.#timers.push(setTimeout(() => isInTime() || this.#fail('target_timeout'), ms));
  }

  /** Sends the request, to a trusted peer only. */
  onOpen(): void {
    const { call, addresses, destination } = this.#given;
    const { isUsed, socket } = this.#connection;
    const isPeer = isUsed ? isPinned : isTrusted;
    if (this.#isOver || !isPeer(socket, addresses, destination)) {
      this.#fail('target_unreachable', 'certificate');
      return;
    }
    try {
      call.onWritten?.();
    } catch (error) {
      this.#settled.reject(error);
      this.#failBroken();
      return;
    }
    this.#isSent = true;
    socket.write(wireBytes(this.#given));
  }

  onData(chunk: Buffer): void {
    this.#follow(this.#isSent ? this.#parser.push(chunk) : 'target_unreachable');
  }

  onClosing(): void {
    this.#follow(this.#isSent ? this.#parser.end() : 'target_unreachable');
  }

  onLost(error?: Error): void {
    if (!this.#isSent && error !== undefined && isAboutCertificate(error)) {
      this.#fail('target_unreachable', 'certificate');
    } else {
      this.#failBroken();
    }
  }

  onHead(head: ReplyHead): void {
    this.#head = head;
    const { call } = this.#given;
    if (call.stream && !(call.decodes && valuesOf(head.headers, 'content-encoding') !== undefined)) {
      const { socket } = this.#connection;
      this.#streamed = openReply(head, this.#given.limits.replyBodyBytes, {
        pause: () => void socket.pause(),
        resume: () => void (this.#isOver || socket.resume()),
        cancel: () => this.#failBroken(),
      });
      this.#settled.resolve({ ok: true, ...this.#streamed.reply });
    }
  }

  onPiece(piece: Uint8Array): void {
    if (!this.#isOver && !(this.#streamed ?? this.#whole).add(piece)) {
      this.#fail('reply_too_large');
    }
  }

  onEnd(isReusable: boolean): void {
    if (!this.#isOver) {
      this.#end(isReusable);
      if (this.#streamed === undefined) {
        this.#giveWhole();
      } else {
        this.#streamed.end();
      }
    }
  }

  #end(isReusable: boolean): void {
    const { isKept, pool } = this.#given;
    const { socket } = this.#connection;
    this.#isOver = true;
    for (const timer of this.#timers) {
      clearTimeout(timer);
    }
    if (isReusable && isKept && socket.writableLength === 0) {
      pool.give(nameOf(this.#given), this.#connection);
    } else {
      socket.destroy();
    }
  }

  #giveWhole(): void {
    const head = this.#head as ReplyHead;
    const reply = decodeReply(head, this.#whole.whole(), this.#given.limits.replyBodyBytes);
    if (reply instanceof Promise) {
      reply.then((decoded) => this.#give(decoded));
    } else {
      this.#give(reply);
    }
  }

  #give(reply: OutboundReply | ReplyFault): void {
    this.#settled.resolve(typeof reply === 'string' ? this.#failure(reply) : { ok: true, ...reply });
  }

  #follow(fault: ReplyFault | undefined): void {
    if (fault === 'target_unreachable') {
      this.#failBroken();
    } else if (fault !== undefined) {
      this.#fail(fault);
    }
  }

  #failBroken(): void {
    this.#fail('target_unreachable');
  }

  #failure(code: OutboundFailure['code'], reason?: FailureReason): OutboundFailure {
    const broken = this.#isSent ? 'broken_off' : 'connection';
    return outboundFailure(
      code,
      this.#isSent,
      reason ?? (code === 'target_unreachable' ? broken : undefined),
    );
  }

  #fail(code: OutboundFailure['code'], reason?: FailureReason): void {
    if (!this.#isOver) {
      this.#end(false);
      this.#settled.resolve(this.#failure(code, reason));
      this.#streamed?.fail(new VaultError(code === 'target_unreachable' ? 'outcome_unknown' : code));
    }
  }
}

/** Sends one request over a connection of the pool, and reads the reply. Rejects with what `onWritten` throws. */
export function exchange(given: HttpExchange): Promise<OutboundResult | StreamingResult> {
  return new Exchange(given).run();
}
