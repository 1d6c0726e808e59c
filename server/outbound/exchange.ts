import { type ConnectionOptions, checkServerIdentity, type SecureContext, type TLSSocket } from 'node:tls';
import { VaultError } from '../core/errors.ts';
import { isEncoded, joinedValues } from '../core/headers.ts';
import { normalAddress } from './addresses.ts';
import {
  type FailureReason,
  MIN_VERSION,
  type OutboundFailure,
  type OutboundLimits,
  type OutboundRequest,
  type OutboundResult,
  outboundFailure,
  SHORT_REPLY_BYTES,
  type StreamingRequest,
  type StreamingResult,
} from './call.ts';
import type { Connection, ConnectionPool, ConnectionUser } from './connections.ts';
import type { Destination } from './destination.ts';
import { type BodySink, lengthOf, type OutboundReply, streamReply, WholeReply } from './reply.ts';
import { type ReplyFault, type ReplyHead, ReplyParser, type ReplySink } from './reply-parser.ts';

const USER_AGENT = 'cardvault';
const NO_BYTES = new Uint8Array(0);
/** Methods whose bodies every target reads. */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** The request as it is sent, in one piece; all names and values were checked. */
function wireBytes({ call, destination }: HttpExchange): Buffer {
  const { method, headers, bare, body } = call;
  let head = `${method} ${destination.path} HTTP/1.1\r\nHost: ${destination.authority}\r\n`;
  for (const [name, value] of headers) {
    head += `${name}: ${value}\r\n`;
  }
  if (!bare && joinedValues(headers, 'user-agent') === undefined) {
    head += `User-Agent: ${USER_AGENT}\r\n`;
  }
  if (!bare && joinedValues(headers, 'accept-encoding') === undefined) {
    head += 'Accept-Encoding: identity\r\n';
  }
  if (body !== undefined || WITH_BODY.has(method)) {
    head += `Content-Length: ${body?.length ?? 0}\r\n`;
  }
  head += `Connection: ${isKept(call) ? 'keep-alive' : 'close'}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(head.length + (body?.length ?? 0));
  bytes.write(head, 'latin1');
  bytes.set(body ?? NO_BYTES, head.length);
  return bytes;
}

type PeerSocket = Pick<TLSSocket, 'authorized' | 'getPeerCertificate' | 'remoteAddress'>;

/**
 * The final check before the first byte is sent: the runtime has verified the chain and the dates, the peer is one of the
 * checked addresses, and the certificate has the host as a subject alternative name (RFC 9525: the common name is ignored).
 * It repeats what the options require, so that a lost option or a setting of the environment cannot redirect data.
 */
export function isTrusted(
  socket: PeerSocket,
  pinned: readonly string[],
  { host, isAddress }: Destination,
): boolean {
  const { authorized, remoteAddress = '' } = socket;
  if (!authorized || !pinned.includes(normalAddress(remoteAddress) ?? '')) {
    return false;
  }
  const certificate = socket.getPeerCertificate();
  const names = certificate.subjectaltname ?? '';
  return (
    names.includes(isAddress ? 'IP Address:' : 'DNS:') && checkServerIdentity(host, certificate) === undefined
  );
}

export interface HttpExchange {
  readonly call: OutboundRequest | StreamingRequest;
  readonly destination: Destination;
  /** Permitted addresses in normal form, in the order of connection attempts. */
  readonly addresses: readonly string[];
  readonly context: SecureContext;
  readonly pool: ConnectionPool;
  readonly limits: OutboundLimits;
  readonly remainingMs: number;
}

/** Tells whether the connection is reusable: not with a client certificate, nor after a body that the target may not read. */
function isKept({ clientCert, method, body = NO_BYTES }: HttpExchange['call']): boolean {
  return clientCert === undefined && (body.length === 0 || WITH_BODY.has(method));
}

/** Owner, target and addresses of a connection; undefined for one that is used once. */
function nameOf({ call, destination, addresses }: HttpExchange): string | undefined {
  const sorted = addresses.length > 1 ? addresses.toSorted() : addresses;
  return isKept(call)
    ? `${call.owner} ${destination.host} ${destination.port} ${sorted.join(' ')}`
    : undefined;
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

/** Drops the message of an error, since it could contain a part of a key. */
function connectTo(given: HttpExchange, user: ConnectionUser): Connection {
  try {
    return given.pool.acquire(nameOf(given), () => connectionOptions(given), user);
  } catch (error) {
    throw new VaultError('internal', { cause: error });
  }
}

/** The most chunks of a body: with more, 1 MB would have chunks of less than 16 bytes, which only wastes CPU time. */
const PIECES_MAX = 65_536;

/** One request over a connection of the pool, and its reply. The connection is reused only if both were complete. */
export class Exchange implements ConnectionUser, ReplySink {
  private readonly settled = Promise.withResolvers<OutboundResult | StreamingResult>();
  private readonly connection: Connection;
  private readonly parser: ReplyParser;
  private readonly timers: NodeJS.Timeout[] = [];
  private body: BodySink | undefined;
  private bytes = 0;
  private pieces = 0;
  private isSent = false;
  /** Announced length of a body that is read whole. */
  private announced = 0;
  private hasRoom = false;
  private isOver = false;

  constructor(private readonly given: HttpExchange) {
    const { call, limits } = given;
    this.parser = new ReplyParser(limits, call.method === 'HEAD', this);
    this.connection = connectTo(given, this);
  }

  run(): Promise<OutboundResult | StreamingResult> {
    const { limits, remainingMs } = this.given;
    this.timers.push(setTimeout(() => this.fail('target_timeout'), remainingMs));
    if (this.connection.isUsed) {
      this.send();
    } else {
      this.timers.push(setTimeout(() => this.isSent || this.fail('target_timeout'), limits.connectMs));
    }
    return this.settled.promise;
  }

  /** Sends the request, to a trusted peer only. */
  onOpen(): void {
    const { addresses, destination } = this.given;
    if (!this.isOver && isTrusted(this.connection.socket, addresses, destination)) {
      this.send();
    } else {
      this.fail('target_unreachable', 'certificate');
    }
  }

  private send(): void {
    this.isSent = true;
    this.connection.socket.write(wireBytes(this.given));
  }

  onData(chunk: Buffer): void {
    const fault = this.isSent ? this.parser.push(chunk) : 'target_unreachable';
    if (fault !== undefined) {
      this.fail(fault);
    }
  }

  onClosing(): void {
    const fault = this.isSent ? this.parser.end() : 'target_unreachable';
    if (fault !== undefined) {
      this.fail(fault);
    }
  }

  onLost(error?: Error): void {
    const code = error !== undefined && 'code' in error ? String(error.code) : '';
    const isRejected = !this.isSent && CERTIFICATE_CODE.test(code);
    this.fail('target_unreachable', isRejected ? 'certificate' : undefined);
  }

  onHead(head: ReplyHead): void {
    const { call, limits } = this.given;
    if ('stream' in call && !(call.decodes && isEncoded(head.headers))) {
      const { socket } = this.connection;
      const body = streamReply(head, {
        pause: () => void socket.pause(),
        resume: () => void (this.isOver || socket.resume()),
        cancel: () => this.fail('target_unreachable'),
      });
      this.body = body;
      this.settled.resolve({ ok: true, ...body.reply });
    } else {
      this.body = new WholeReply(head, limits.replyBodyBytes, (reply) => this.give(reply));
      // A compressed body may become long.
      this.announced = isEncoded(head.headers) ? Number.POSITIVE_INFINITY : lengthOf(head);
    }
  }

  onPiece(piece: Uint8Array): void {
    if (this.isOver) {
      return;
    }
    this.bytes += piece.length;
    this.pieces += 1;
    if (this.bytes > this.given.limits.replyBodyBytes || this.pieces > PIECES_MAX) {
      this.fail('reply_too_large');
    } else {
      this.body?.add(piece);
      this.needRoom(Math.max(this.bytes, this.announced));
    }
  }

  /** Reads no more of a long reply, which is kept whole, until there is room for it. */
  private needRoom(bytes: number): void {
    if (this.hasRoom || bytes <= SHORT_REPLY_BYTES || !(this.body instanceof WholeReply)) {
      return;
    }
    this.hasRoom = true;
    const turn = this.given.call.room?.();
    if (turn !== undefined) {
      const { socket } = this.connection;
      socket.pause();
      void turn.then(() => void (this.isOver || socket.resume()));
    }
  }

  onEnd(isReusable: boolean): void {
    if (!this.isOver) {
      this.end(isReusable);
      this.body?.end();
    }
  }

  private end(isReusable: boolean): void {
    const { socket } = this.connection;
    this.isOver = true;
    for (const timer of this.timers) {
      clearTimeout(timer);
    }
    if (isReusable && socket.writableLength === 0) {
      this.given.pool.release(this.connection);
    } else {
      socket.destroy();
    }
  }

  private give(reply: OutboundReply | ReplyFault): void {
    this.settled.resolve(typeof reply === 'string' ? this.failure(reply) : { ok: true, ...reply });
  }

  private failure(code: OutboundFailure['code'], reason?: FailureReason): OutboundFailure {
    const broken = this.isSent ? 'broken_off' : 'connection';
    return outboundFailure(code, this.isSent, reason ?? (code === 'target_unreachable' ? broken : undefined));
  }

  private fail(code: OutboundFailure['code'], reason?: FailureReason): void {
    if (!this.isOver) {
      this.end(false);
      this.settled.resolve(this.failure(code, reason));
      this.body?.fail?.(new VaultError(code === 'target_unreachable' ? 'outcome_unknown' : code));
    }
  }
}
