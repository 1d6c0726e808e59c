/** The form page's side of the messages: it listens to the page around it alone, and tells it no field's value. */
import type { Heard } from './heard.ts';
import { type FormMessage, isParentMessage, type ParentMessage } from './messages.ts';

/** Success and failure wait this long for the page around to say who it is. */
const HELLO_MS = 500;

/** What is used of the window of the page around. */
interface Peer {
  postMessage(message: FormMessage, targetOrigin: string): void;
}

/** What is used of the page's own window; its parent is itself when there is no page around. */
export interface FrameWindow extends Peer {
  readonly parent: Peer;
  addEventListener(type: 'message', listener: (event: Heard) => void): void;
  setTimeout(act: () => void, milliseconds: number): unknown;
}

/** What the messages need; `ancestors` is `location.ancestorOrigins`, where there is one. */
export interface FrameDeps {
  readonly own: FrameWindow;
  readonly ancestors: ArrayLike<string> | undefined;
  readonly allowed: readonly string[];
}

/** Sends to the page around, which is nothing when there is none. */
export interface Frame {
  readonly framed: boolean;
  send(message: FormMessage): void;
}

/** An origin that messages can be addressed to; opaque ones are `null`. */
function isOrigin(origin: string | undefined): origin is string {
  return origin !== undefined && /^https?:/.test(origin);
}

/** The message, if it may be acted on: from the parent window itself, from an allowed origin, and one that we know. */
export function hear(event: Heard, own: FrameWindow, allowed: readonly string[]): ParentMessage | undefined {
  return own.parent !== own &&
    event.source === own.parent &&
    (allowed.length === 0 || allowed.includes(event.origin)) &&
    isParentMessage(event.data)
    ? event.data
    : undefined;
}

/** Starts to listen; `act` is called for what the page around asks. */
export function openFrame(
  { own, ancestors, allowed }: FrameDeps,
  act: (message: ParentMessage) => void,
): Frame {
  const { parent } = own;
  const framed = parent !== own;
  let target = isOrigin(ancestors?.[0]) ? ancestors[0] : undefined;
  let waiting: FormMessage[] = [];
  const post = (message: FormMessage): void => {
    // As long as the origin is not known, only those that may be it can read the message.
    const origins = target === undefined ? (allowed.length === 0 ? ['*'] : allowed) : [target];
    for (const origin of origins) {
      parent.postMessage(message, origin);
    }
  };
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
    if (message.type === 'vault.hello') {
      target = isOrigin(event.origin) ? event.origin : target;
      flush();
    }
    act(message);
  });
  return {
    framed,
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
