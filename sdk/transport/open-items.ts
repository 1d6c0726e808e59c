/** Decrypts many items with few requests, and returns them as they arrive. */

import type { ApiCall } from './call.ts';
import { VaultConnectionError } from './errors.ts';
import { createTrail, jsonOf } from './pages.ts';
import type { Transport } from './transport.ts';
import { createTreeReader } from './tree.ts';
import type { DecryptedItem } from './types.ts';

/**
 * Decrypts every item that the filters of a call match, page by page, and yields each one when it is complete.
 * `callOf` is called when the loop starts, so that an invalid call throws there.
 */
export async function* openItems(
  transport: Transport,
  callOf: () => ApiCall,
): AsyncGenerator<DecryptedItem, void, undefined> {
  const call = callOf();
  const { limit = -1, ...filters } = call.query ?? {};
  const trail = createTrail();
  let next_token: string | undefined;
  do {
    const query = { limit, ...filters, decrypt_all: true, next_token };
    const reply = await transport.stream({ ...call, query });
    const reader = createTreeReader();
    const decoder = new TextDecoder('utf-8', { fatal: true });
    for await (const piece of reply.pieces) {
      for (const text of reader.push(decoded(decoder, piece))) {
        yield jsonOf<DecryptedItem>(text);
      }
    }
    decoded(decoder);
    reader.end();
    next_token = trail(reply.nextToken);
  } while (next_token !== undefined);
}

/** The text of a piece; without one, checks that no character is incomplete. The decoder's own error is not kept. */
function decoded(decoder: TextDecoder, piece?: Uint8Array): string {
  try {
    return decoder.decode(piece, { stream: piece !== undefined });
  } catch {
    throw new VaultConnectionError('The reply is not UTF-8.');
  }
}
