/** Messages in the form's page. It accepts messages of the page around alone, and sends no field's value. */
import type { Heard } from './heard.ts';
import { type FormMessage, isParentMessage, type ParentMessage } from './messages.ts';

/** Success and failure wait this long for the page around to say who it is. */
const HELLO_MS = 500;
/** Time in which its first message has to come where the browser does not tell its origin. */
const ORIGIN_MS = 5_000;

/** The used members of the window of the page around. */
interface Peer {
  postMessage(message: FormMessage, targetOrigin: string): void;
}

/** The used members of the page's window; it is its parent if there is no page around. */
export interface FrameWindow extends Peer {
  readonly parent: Peer;
  addEventListener(type: 'message', listener: (event: Heard) => void): void;
  setTimeout(act: () => void, milliseconds: number): unknown;
}

/** `ancestors` is `location.ancestorOrigins`, if the browser has it. */
export interface FrameDeps {
  readonly own: FrameWindow;
  readonly ancestors: ArrayLike<string> | undefined;
  readonly allowed: readonly string[];
}

/** Sends to the page around, if there is one. */
export interface Frame {
  readonly framed: boolean;
  send(message: FormMessage): void;
  /** The origin of the page around: that of its window, otherwise that of its first message; `null` for an opaque one. */
  origin(): Promise<string | undefined>;
}

/** An origin that messages can be addressed to; opaque ones are `null`. */
function isOrigin(origin: string | undefined): origin is string {
  return origin !== undefined && /^https?:/.test(origin);
}

/** The message, if it is valid and comes from the parent window and an allowed origin. */
export function hear(event: Heard, own: FrameWindow, allowed: readonly string[]): ParentMessage | undefined {
  return own.parent !== own &&
    event.source === own.parent &&
    (allowed.length === 0 || allowed.includes(event.origin)) &&
    isParentMessage(event.data)
    ? event.data
    : undefined;
}

/** Starts to listen; `act` is called for each message of the page around. */
export function openFrame(
  { own, ancestors, allowed }: FrameDeps,
  act: (message: ParentMessage) => void,
): Frame {
  const { parent } = own;
  const framed = parent !== own;
  let target = isOrigin(ancestors?.[0]) ? ancestors[0] : undefined;
  let waiting: FormMessage[] = [];
  const post = (message: FormMessage): void => {
    // Until the origin is known, the message is addressed to each allowed origin.
    const origins = target === undefined ? (allowed.length === 0 ? ['*'] : allowed) : [target];
    for (const origin of origins) {
      parent.postMessage(message, origin);
    }
  };
  let meet: (origin: string) => void = () => undefined;
  const met = new Promise<string>((resolve) => {
    meet = resolve;
  });
  const flush = (): void => {
    const messages = waiting;
    waiting = [];
    messages.forEach(post);
  };
  own.addEventListener('message', (event) => {
    const message = hear(event, own, allowed);
    if (message === undefined) {
      return;
    }
    meet(event.origin);
    if (message.type === 'vault.hello') {
      target = isOrigin(event.origin) ? event.origin : target;
      flush();
    }
    act(message);
  });
  return {
    framed,
    origin: () => {
      const told = ancestors?.[0];
      // A browser may tell `null` for a page that does not want to be known.
      const late = new Promise<string | undefined>((resolve) => {
        own.setTimeout(() => resolve(told), ORIGIN_MS);
      });
      return isOrigin(told) ? Promise.resolve(told) : Promise.race([met, late]);
    },
    send: (message) => {
      const open = message.type === 'vault.ready' || message.type === 'vault.height';
      if (!framed) {
        return;
      }
      if (open || target !== undefined) {
        post(message);
        return;
      }
      waiting.push(message);
      own.setTimeout(flush, HELLO_MS);
    },
  };
}
