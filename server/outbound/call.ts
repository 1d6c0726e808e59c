import type { Secret } from '../core/secret.ts';
import type { HeaderList } from './headers.ts';
import type { Reply } from './reply.ts';

/** The methods that a request to a third party may have. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** One request to a third party. */
export interface OutboundRequest {
  readonly method: (typeof METHODS)[number];
  readonly url: string;
  /** The hosts that the account may reach, as `checkDestination` takes them; none or empty: any. */
  readonly hosts?: readonly string[] | undefined;
  /** The caller's own. Host, Content-Length and, unless they are here, User-Agent and Accept-Encoding are added. */
  readonly headers: HeaderList;
  readonly body?: Uint8Array | undefined;
  /** Presented when the target asks for one; its private key goes into the handshake and nowhere else. */
  readonly clientCert?: { readonly certPem: string; readonly keyPem: Secret<string> } | undefined;
  /** For everything, from the name's lookup to the last byte of the reply. */
  readonly deadlineMs: number;
  /** Called once, right before the first byte of the request leaves. If it throws, nothing leaves. */
  readonly onWritten?: (() => void) | undefined;
}

/** What stood in the way, for the log: never a text of the target, the runtime or the request. */
export type FailureReason = 'name' | 'connection' | 'certificate' | 'broken_off';

/** Why there is no reply. Holds nothing of the request, the target or the reply. */
export interface OutboundFailure {
  readonly ok: false;
  readonly code: 'destination_refused' | 'target_unreachable' | 'target_timeout' | 'reply_too_large';
  /**
   * False: not one byte of the request left, so that it may be sent again at no risk (never after
   * `destination_refused`, which stays). True: what the target did with it is unknown.
   */
  readonly sent: boolean;
  /** Of `target_unreachable` alone. */
  readonly reason?: FailureReason | undefined;
}

/** What became of a request. */
export type OutboundResult = ({ readonly ok: true } & Reply) | OutboundFailure;

/** Bounds of one request besides its own deadline. */
export interface OutboundLimits {
  readonly dnsMs: number;
  /** Connection and TLS handshake together. */
  readonly connectMs: number;
  readonly replyHeaderBytes: number;
  readonly replyBodyBytes: number;
}

/** The oldest version of TLS that is spoken to third parties. */
export const MIN_VERSION = 'TLSv1.2';

/** A failure; `sent` says whether a byte of the request may have left. */
export const failure = (
  code: OutboundFailure['code'],
  sent: boolean,
  reason?: FailureReason,
): OutboundFailure => Object.freeze({ ok: false, code, sent, ...(reason && { reason }) });
