import { VaultError } from '../core/errors.ts';
import type { Limiter, Revocable } from '../limits/limiter.ts';

/** The minimum cost of a body: the objects of its request and its connection. It also bounds the requests of a source. */
const LEAST_BYTES = 8_192;

/** A longer body is only received from an authenticated caller, and never just to keep a connection open. */
const LONG_BYTES = 65_536;

export function isLong(length: number): boolean {
  return length > LONG_BYTES;
}

/** The Content-Length of a request; undefined without one, as for chunked bodies. */
export function declaredLength(headers: Headers): number | undefined {
  const text = headers.get('content-length');
  return text === null ? undefined : Number(text);
}

/** True if an unread body is long or endless: the connection then ends with the reply instead of receiving the rest. */
export function hasLongBody(headers: Headers): boolean {
  return headers.has('transfer-encoding') || isLong(declaredLength(headers) ?? 0);
}

/** The owner of a body: a network without a sign-in yet, or an account. */
type OwnerKind = 'anonymous' | 'account';

type Cut = (error: VaultError) => void;

/**
 * The memory of one body: of an unauthenticated caller, or one that arrives later than its head. The runtime receives a body
 * even if it is not read: a request that is rejected here must be answered, or its body cancelled, at once.
 */
export class BodyHold implements Revocable {
  units: number;
  private reject: Cut | undefined;

  /** Acquires bytes; throws `overloaded`. */
  constructor(
    private readonly limiter: Limiter,
    private readonly owner: string,
    length: number,
    private readonly kind: OwnerKind = 'anonymous',
  ) {
    this.units = Math.max(LEAST_BYTES, length);
    void limiter.acquire(this.work, owner, this.units);
  }

  /** Marks the body as incomplete: its bytes can be given to others, and `reject` is then called. */
  wait(reject: Cut): void {
    if (this.units > 0) {
      this.reject = reject;
      this.limiter.offer(this.work, this.owner, this);
    }
  }

  /** Marks the body as complete. A short one is released: the number of requests bounds these. */
  arrived(): void {
    if (isLong(this.units)) {
      this.limiter.withdraw(this.work, this.owner, this);
    } else {
      this.release();
    }
  }

  /** Acquires more bytes for a body without a declared length, at least twice as many as before; throws `overloaded`. */
  grow(length: number): void {
    if (this.units === 0) {
      throw new VaultError('overloaded');
    }
    if (length > this.units) {
      const { units } = new BodyHold(this.limiter, this.owner, Math.max(length, 2 * this.units), this.kind);
      this.release();
      this.units = units;
      if (this.reject !== undefined) {
        this.wait(this.reject);
      }
    }
  }

  /** Ends the reading of an incomplete body; called by the limiter. */
  cut(error: VaultError): void {
    this.units = 0;
    this.reject?.(error);
  }

  /** A further call has no effect, nor has one after `cut`. */
  release(): void {
    if (this.units > 0) {
      this.limiter.withdraw(this.work, this.owner, this);
      this.limiter.release(this.work, this.owner, this.units);
      this.units = 0;
    }
  }

  private get work() {
    return this.kind === 'account' ? 'slowBody' : isLong(this.units) ? 'longBody' : 'shortBody';
  }
}
