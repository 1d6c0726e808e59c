import type { HeaderEntries } from '../core/headers.ts';
import type { Secret } from '../core/secret.ts';
import type { ProxyMethod } from '../core/third-party.ts';
import type { DestinationFault } from './destination.ts';
import type { OutboundReply, StreamedReply } from './reply.ts';
import type { ReplyLimits } from './reply-parser.ts';

/** Requests memory for a long reply; a promise where earlier calls have to end first. */
export type AsksForRoom = () => Promise<void> | undefined;

/** Maximum bytes of a reply that is read whole without requesting room. */
export const SHORT_REPLY_BYTES = 65_536;

export interface CallTerms {
  /** The sending credential or account. Its connections are reused for its own requests only. */
  readonly owner: string;
  /** The hosts that the account may call, see `checkDestination`; absent or empty: any. */
  readonly hosts?: readonly string[] | undefined;
  /** The client certificate for targets that request one. The private key is only used in the TLS handshake, on a connection that is used once. */
  readonly clientCert?: { readonly certPem: string; readonly keyPem: Secret<string> } | undefined;
  /** See `AsksForRoom`; without it, every reply has room. */
  readonly room?: AsksForRoom | undefined;
  /** The time limit from the name lookup to the last byte of the reply. */
  readonly deadlineMs: number;
}

export interface OutboundRequest extends CallTerms {
  readonly method: ProxyMethod;
  readonly url: string;
  /**
   * Sent in this order and spelling, after Host. Content-Length and Connection follow; before them, unless it is `bare`,
   * User-Agent and Accept-Encoding if they are missing.
   */
  readonly headers: HeaderEntries;
  /** Adds no header but Host, Content-Length and Connection, which HTTP needs. */
  readonly bare?: true | undefined;
  readonly body?: Uint8Array | undefined;
}

/** A request whose reply is returned with its head; the deadline includes the body. */
export interface StreamingRequest extends OutboundRequest {
  readonly stream: true;
  /** Reads a reply in a content coding whole and decodes it, for callers that search the body. */
  readonly decodes?: boolean | undefined;
}

/** The cause of a failure, for the log; never text of the target, the runtime or the request. */
export type FailureReason = 'name' | 'connection' | 'certificate' | 'broken_off' | DestinationFault;

/** A failure without a reply. It contains no data of the request, the target or the reply. */
export interface OutboundFailure {
  readonly ok: false;
  readonly code: 'destination_refused' | 'target_unreachable' | 'target_timeout' | 'reply_too_large';
  /** False: no byte of the request was sent, so a retry is safe. True: the target may have processed the request. */
  readonly sent: boolean;
  /** Only for `target_unreachable` and `destination_refused`. */
  readonly reason?: FailureReason | undefined;
}

export type OutboundResult = ({ readonly ok: true } & OutboundReply) | OutboundFailure;

/** The result of a streaming request: a failure before the head of its reply, or a reply whose body may still fail. */
export type StreamingResult = ({ readonly ok: true } & (StreamedReply | OutboundReply)) | OutboundFailure;

/** Limits of one request besides its deadline. */
export interface OutboundLimits extends ReplyLimits {
  readonly dnsMs: number;
  /** Connection and TLS handshake together. */
  readonly connectMs: number;
}

export const MIN_VERSION = 'TLSv1.2';

/** Creates a failure; `sent` tells whether a byte of the request may have been sent. */
export function outboundFailure(
  code: OutboundFailure['code'],
  sent: boolean,
  reason?: FailureReason,
): OutboundFailure {
  return Object.freeze({ ok: false, code, sent, ...(reason && { reason }) });
}
