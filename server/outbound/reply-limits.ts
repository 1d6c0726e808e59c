import type { ClientRequest } from 'node:http';
import type { OutboundFailure, OutboundLimits } from './call.ts';

/** The most interim replies (1xx) before the final one. */
const INTERIM_MAX = 8;

/** The body, its headers, and the same again for the framing of chunks. */
function wireBytesMax({ replyHeaderBytes, replyBodyBytes }: OutboundLimits): number {
  return 2 * (replyBodyBytes + replyHeaderBytes);
}

/**
 * Limits what the parser of the runtime accepts: interim replies and framing with almost no data, which it does without limit,
 * and a change to another protocol. `onExceeded` may be called more than once.
 */
export function limitReply(
  outgoing: ClientRequest,
  limits: OutboundLimits,
  onExceeded: (code: OutboundFailure['code']) => void,
): void {
  const bytesMax = wireBytesMax(limits);
  let interim = 0;
  outgoing.on('information', () => {
    interim += 1;
    if (interim > INTERIM_MAX) {
      onExceeded('target_unreachable');
    }
  });
  outgoing.on('upgrade', (_response, socket) => {
    socket.destroy();
    onExceeded('target_unreachable');
  });
  outgoing.on('socket', (socket) => {
    const before = socket.bytesRead;
    const check = (): void => {
      if (socket.bytesRead - before > bytesMax) {
        onExceeded('reply_too_large');
      }
    };
    socket.on('data', check);
    // The connection may serve another request after this one.
    outgoing.on('close', () => socket.off('data', check));
  });
}
