import { untilClosed } from '../core/byte-stream.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { AsksForRoom } from '../outbound/call.ts';

/** Bytes of a call without its body: the rest of the request, and a reply that needs no extra room. */
const CALL_BYTES = 131_000;

/** The memory of a proxied or relayed call. Without room it is `overloaded` before anything is sent. */
export class CallRoom {
  private readonly bytes: number;
  private hasAsked = false;
  private granted: Promise<void> | undefined;
  private isOver = false;

  /** Acquires memory for a call with a body of this length. */
  constructor(
    private readonly limiter: Limiter,
    private readonly aid: string,
    requestBytes: number,
  ) {
    // A request is held as it came and as it is sent.
    this.bytes = CALL_BYTES + 2 * requestBytes;
    void limiter.acquire('call', aid, this.bytes);
  }

  /** Requests room for a long reply, once for all replies of the call. */
  readonly forReply: AsksForRoom = () => {
    if (!this.hasAsked && !this.isOver) {
      this.hasAsked = true;
      this.granted = this.limiter.acquire('reply', this.aid);
    }
    return this.granted;
  };

  /** Makes the call, and ends it when its reply is here, or has been passed on. */
  async hold<Reply extends object>(call: (forReply: AsksForRoom) => Promise<Reply>): Promise<Reply> {
    try {
      const reply = await call(this.forReply);
      if ('body' in reply && reply.body instanceof ReadableStream) {
        return { ...reply, body: untilClosed(reply.body, this.release) };
      }
      this.release();
      return reply;
    } catch (error) {
      this.release();
      throw error;
    }
  }

  /** Ends the call; a second time without effect. */
  readonly release = (): void => {
    if (!this.isOver) {
      this.isOver = true;
      this.limiter.release('call', this.aid, this.bytes);
      if (this.hasAsked) {
        // Room that is no longer awaited is released when it is granted.
        void Promise.resolve(this.granted).then(() => this.limiter.release('reply', this.aid));
      }
    }
  };
}
