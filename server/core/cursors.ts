import { createHmac, timingSafeEqual } from 'node:crypto';
import { VaultError } from './errors.ts';

const MAC_BYTES = 16;

/** The account, route and filters of a cursor. It is valid for no others. */
type CursorScope = readonly (string | number | boolean | undefined)[];

/**
 * Positions in a listing, signed and not encrypted: a caller can read the times, names and random ids in it, which are all of
 * the caller's own account, and can change nothing. The first of `keys` signs; a cursor of any of them is valid.
 */
export class Cursors {
  constructor(private readonly keys: () => readonly Uint8Array[]) {}

  sign(scope: CursorScope, position: unknown): string {
    const body = Buffer.from(JSON.stringify(position));
    const [key = new Uint8Array(0)] = this.keys();
    return Buffer.concat([macOf(key, scope, body), body]).toString('base64url');
  }

  /** Rejects with `cursor_invalid` any text that was not signed for this scope. */
  verify(scope: CursorScope, text: string, field = 'query.next_token'): unknown {
    const bytes = Buffer.from(text, 'base64url');
    const body = bytes.subarray(MAC_BYTES);
    // One spelling per cursor: another text that decodes to the same bytes is not ours.
    const ours = bytes.length > MAC_BYTES && bytes.toString('base64url') === text;
    const mac = bytes.subarray(0, MAC_BYTES);
    if (!ours || !this.keys().some((key) => timingSafeEqual(mac, macOf(key, scope, body)))) {
      throw new VaultError('cursor_invalid', { field });
    }
    return JSON.parse(body.toString('utf8'));
  }
}

function macOf(key: Uint8Array, scope: CursorScope, body: Uint8Array): Buffer {
  const scopeText = JSON.stringify(scope.map((part) => part ?? null));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(Buffer.byteLength(scopeText));
  return createHmac('sha256', key)
    .update(head)
    .update(scopeText)
    .update(body)
    .digest()
    .subarray(0, MAC_BYTES);
}
