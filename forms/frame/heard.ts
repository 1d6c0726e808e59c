import { type FormMessage, isFrameMessage } from './messages.ts';

/** The used members of a message event. */
export interface Heard {
  readonly source: unknown;
  readonly origin: string;
  readonly data: unknown;
}

/**
 * The message of a form: valid, and from the window and origin of its frame; undefined for any other.
 */
export function messageFrom(heard: Heard, frameWindow: unknown, origin: string): FormMessage | undefined {
  // A frame outside the page has no window: null, like the source of an event that no window sent.
  const isOurs = frameWindow !== null && heard.source === frameWindow && heard.origin === origin;
  return isOurs && isFrameMessage(heard.data) ? heard.data : undefined;
}

const HEIGHT_MAX = 5000;

/** The height of a frame for the height that its form reports, in whole CSS pixels from 0 to 5,000. */
export function frameHeight(reported: number): number {
  return Math.min(Math.max(Math.ceil(reported), 0), HEIGHT_MAX);
}
