import type { ExportPiece } from '../../workers/jobs/export/jobs.ts';
import { streamOf } from '../core/byte-stream.ts';
import { mapAhead } from '../core/concurrency.ts';
import type { SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { CHUNK_BYTES } from '../domain/text/lines.ts';
import { type KeyOpener, namedInBody } from '../key/opener.ts';
import type { AccountContext } from '../request/context.ts';
import { requireUnmasked } from '../request/permission.ts';
import { bodyTimeOf } from '../schema/body-time.ts';
import type { TreeBranch, VaultTrees } from '../vault/list/list.ts';
import type { ExportRequest } from './schema.ts';

/** Pieces that are encrypted ahead of the one that is being sent. */
const PIECES_AHEAD = 2;
const encoder = new TextEncoder();
const END_OF_LINE = Uint8Array.of(0x0a);

/** Plaintext of an export: whole chunks, and in the last piece the rest. */
interface Piece extends ExportPiece {
  readonly text: Uint8Array;
}

/** Exports of the items of a key, encrypted to recipients. */
export class Exports {
  constructor(
    private readonly crypto: Crypto,
    private readonly keys: KeyOpener,
    private readonly trees: VaultTrees,
  ) {}

  /**
   * Returns a file in the age format with a JSON line for each item, and a last one that counts and hashes them. Rejects
   * callers who see numbers masked, and as `decryptAll` does before the reply starts; a change of the key after that aborts
   * the stream, which then ends without its last chunk. An account's preferences for masks and metadata do not apply: items
   * are exported as they were stored. `onItems` is called with the number of items that were encrypted so far.
   */
  async exportItems(
    ctx: AccountContext,
    {
      user,
      recipients,
      reference_prefix,
      passphrase,
      onItems,
      ...times
    }: ExportRequest & {
      readonly passphrase: SecretBytes;
      readonly onItems?: (count: number) => void;
    },
  ): Promise<ReadableStream<Uint8Array>> {
    requireUnmasked(ctx.account);
    const { aid } = ctx.account;
    const stored_after = bodyTimeOf('stored_after', times.stored_after);
    const stored_before = bodyTimeOf('stored_before', times.stored_before);
    const { head, key: fileKey } = await this.crypto.beginExport({ aid, recipients });
    const seal = ({ text, ...piece }: Piece): Promise<Uint8Array> =>
      this.crypto.sealExport({ aid, key: fileKey, piece, text });
    const { key, blob } = await namedInBody(this.keys.prove(ctx, user, passphrase));
    const { stream } = await this.trees.openTree({
      ctx,
      route: 'POST /v1/vault/export',
      filter: { user, reference_prefix, stored_after, stored_before, limit: -1 },
      key,
      opening: { kind: 'warm', blob, secret: passphrase },
      view: { rules: [], forcedMask: false, maskFields: [], wantsCard: false },
      operation: 'decrypt',
      write: (branches, _, end) => streamOf(fileOf(head, piecesOf(branches, onItems), seal, end)),
    });
    return stream;
  }
}

/** Yields the bytes of the file. Yields nothing before the first items are encrypted, so that their errors are replies. */
async function* fileOf(
  head: Uint8Array,
  pieces: AsyncGenerator<Piece>,
  seal: (piece: Piece) => Promise<Uint8Array>,
  end: (() => void) | undefined,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    let before = head;
    for await (const sealed of mapAhead(pieces, PIECES_AHEAD, seal)) {
      yield before.length === 0 ? sealed : Buffer.concat([before, sealed]);
      before = new Uint8Array(0);
    }
  } finally {
    end?.();
  }
}

/** Yields the text of the file, cut at the ends of chunks. */
async function* piecesOf(
  branches: AsyncIterable<TreeBranch>,
  onItems?: (count: number) => void,
): AsyncGenerator<Piece> {
  const hash = new Bun.CryptoHasher('sha256');
  let count = 0;
  let chunk = 0;
  let rest: Uint8Array = new Uint8Array(0);
  for await (const { pages } of branches) {
    for await (const texts of pages) {
      const lines = Buffer.concat(texts.flatMap((text) => [text, END_OF_LINE]));
      hash.update(lines);
      count += texts.length;
      onItems?.(count);
      const text: Uint8Array = Buffer.concat([rest, lines]);
      const whole = text.length - (text.length % CHUNK_BYTES);
      rest = text.subarray(whole);
      if (whole > 0) {
        yield { chunk, isLast: false, text: text.subarray(0, whole) };
        chunk += whole / CHUNK_BYTES;
      }
    }
  }
  const sum = encoder.encode(`${JSON.stringify({ count, sha256: hash.digest('hex') })}\n`);
  yield { chunk, isLast: true, text: Buffer.concat([rest, sum]) };
}
