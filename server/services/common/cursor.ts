import { createHmac, timingSafeEqual } from 'node:crypto';
import { VaultError } from '../../core/errors.ts';

const MAC_BYTES = 16;

/** What a cursor belongs to: account, route and filters. It is valid for nothing else. */
export type CursorScope = readonly (string | number | boolean | undefined)[];

export interface Cursors {
  readonly sign: (scope: CursorScope, position: unknown) => string;
  /** Rejects with `cursor_invalid` any text that was not signed for this scope. */
  readonly verify: (scope: CursorScope, text: string) => unknown;
}

/**
 * Positions in a listing, signed and not encrypted: a caller can read the times, names and random ids in it, which are all of
 * the caller's own account, and can change nothing.
 */
export function createCursors(key: Uint8Array): Cursors {
  const macOf = (scope: CursorScope, body: Uint8Array): Buffer => {
    const scopeText = JSON.stringify(scope.map((part) => part ?? null));
    const head = Buffer.alloc(4);
    head.writeUInt32BE(Buffer.byteLength(scopeText));
    return createHmac('sha256', key)
      .update(head)
      .update(scopeText)
      .update(body)
      .digest()
      .subarray(0, MAC_BYTES);
  };
  return {
    sign(scope, position) {
      const body = Buffer.from(JSON.stringify(position));
      return Buffer.concat([macOf(scope, body), body]).toString('base64url');
    },
    verify(scope, text) {
      const bytes = Buffer.from(text, 'base64url');
      const body = bytes.subarray(MAC_BYTES);
      // One spelling per cursor: another text that decodes to the same bytes is not ours.
      const ours = bytes.length > MAC_BYTES && bytes.toString('base64url') === text;
      if (!ours || !timingSafeEqual(bytes.subarray(0, MAC_BYTES), macOf(scope, body))) {
        throw new VaultError('cursor_invalid', { field: 'query.next_token' });
      }
      return JSON.parse(body.toString('utf8'));
    },
  };
}
