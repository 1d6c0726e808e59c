import type { HeaderEntries } from '../core/headers.ts';
import type { Secret } from '../core/secret.ts';
import type { DestinationFault } from './destination.ts';
import type { OutboundReply, StreamedReply } from './reply.ts';
import type { ReplyLimits } from './reply-parser.ts';

/** The methods of requests to third parties. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Asks for memory to read a long reply in; the promise of it where others have to end first. */
export type AsksForRoom = () => Promise<void> | undefined;

/** The most bytes of a reply that is read whole without asking for room. */
export const SHORT_REPLY_BYTES = 65_536;

/** One request to a third party. */
export interface OutboundRequest {
  readonly method: (typeof METHODS)[number];
  readonly url: string;
  /** Who sends it: a credential, or an account. Its connections are used again for its own requests only. */
  readonly owner: string;
  /** The hosts that the account may call, see `checkDestination`; absent or empty: any. */
  readonly hosts?: readonly string[] | undefined;
  /**
   * Sent in this order and spelling, after Host. Content-Length and Connection follow; before them, unless it is `bare`,
   * User-Agent and Accept-Encoding if they are missing.
   */
  readonly headers: HeaderEntries;
  /** Adds no header but Host, Content-Length and Connection, which HTTP needs. */
  readonly bare?: true | undefined;
  /** See `StreamingRequest`. */
  readonly stream?: undefined;
  readonly body?: Uint8Array | undefined;
  /**
   * The client certificate for targets that ask for one; the private key is only used in the TLS handshake, see
   * `createContexts`. Its connection is used once.
   */
  readonly clientCert?: { readonly certPem: string; readonly keyPem: Secret<string> } | undefined;
  /** See `AsksForRoom`; without it, every reply has room. */
  readonly room?: AsksForRoom | undefined;
  /** The time limit from the name lookup to the last byte of the reply. */
  readonly deadlineMs: number;
}

/** A request whose reply is given as soon as its head is there. */
export interface StreamingRequest extends Omit<OutboundRequest, 'stream'> {
  /** The deadline includes the body: whoever does not read it in time gets an error instead of the rest. */
  readonly stream: true;
  /** Whether a reply in a content coding is read whole and decoded instead: for who has to search what comes. */
  readonly decodes?: boolean | undefined;
}

/** The cause of a failure, for the log; never text of the target, the runtime or the request. */
export type FailureReason = 'name' | 'connection' | 'certificate' | 'broken_off' | DestinationFault;

/** Why there is no reply. It contains no data of the request, the target or the reply. */
export interface OutboundFailure {
  readonly ok: false;
  readonly code: 'destination_refused' | 'target_unreachable' | 'target_timeout' | 'reply_too_large';
  /** False: no byte of the request was sent, so a retry is safe. True: the target may have processed the request. */
  readonly sent: boolean;
  /** Only for `target_unreachable` and `destination_refused`. */
  readonly reason?: FailureReason | undefined;
}

/** The result of a request. */
export type OutboundResult = ({ readonly ok: true } & OutboundReply) | OutboundFailure;

/** The result of a streaming request: a failure before the head of its reply, or a reply whose body may still fail. */
export type StreamingResult = ({ readonly ok: true } & (StreamedReply | OutboundReply)) | OutboundFailure;

/** Limits of one request besides its deadline. */
export interface OutboundLimits extends ReplyLimits {
  readonly dnsMs: number;
  /** Connection and TLS handshake together. */
  readonly connectMs: number;
}

/** The oldest TLS version for third parties. */
export const MIN_VERSION = 'TLSv1.2';

/** Creates a failure; `sent` says whether a byte of the request may have been sent. */
export function outboundFailure(
  code: OutboundFailure['code'],
  sent: boolean,
  reason?: FailureReason,
): OutboundFailure {
  return Object.freeze({ ok: false, code, sent, ...(reason && { reason }) });
}
