import type { Limiter } from './limiter.ts';

/** Items of a piece: jobs of all pieces at once fit into the threads' queue. */
const PIECE_ITEMS = 8;

/** Maps a long list of an owner in fair order with other owners: at once it would fill the threads' queue. */
export async function mapInPieces<A, B>(
  limiter: Limiter,
  owner: string,
  items: readonly A[],
  map: (item: A) => Promise<B>,
): Promise<B[]> {
  const pieces: Promise<B[]>[] = [];
  for (let at = 0; at < items.length; at += PIECE_ITEMS) {
    const piece = items.slice(at, at + PIECE_ITEMS);
    pieces.push(limiter.run('piece', owner, () => Promise.all(piece.map(map))));
  }
  return (await Promise.all(pieces)).flat();
}
