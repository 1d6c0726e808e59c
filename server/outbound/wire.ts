import type { ClientRequest } from 'node:http';
import type { OutboundFailure, OutboundLimits } from './call.ts';

/** Interim replies (1xx) that may come before the final one. */
const INTERIM_MAX = 8;

/** The body, its headers, and as much again for the frames of chunks. */
const wireBytesMax = ({ replyHeaderBytes, replyBodyBytes }: OutboundLimits): number =>
  2 * (replyBodyBytes + replyHeaderBytes);

/**
 * Bounds what the parser of the runtime takes without an end and without a word: interim replies, and framing that
 * brings next to no data. `refuse` is called for either, perhaps more than once.
 */
export const watchWire = (
  outgoing: ClientRequest,
  limits: OutboundLimits,
  refuse: (code: OutboundFailure['code']) => void,
): void => {
  const bytesMax = wireBytesMax(limits);
  let interim = 0;
  outgoing.on('information', () => {
    interim += 1;
    if (interim > INTERIM_MAX) {
      refuse('target_unreachable');
    }
  });
  outgoing.on('socket', (socket) => {
    socket.on('data', () => {
      if (socket.bytesRead > bytesMax) {
        refuse('reply_too_large');
      }
    });
  });
};
