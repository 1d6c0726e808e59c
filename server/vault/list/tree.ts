import { streamOf } from '../../core/byte-stream.ts';

/** A tree of items as JSON text, piece by piece. An error in it aborts the connection. */
export interface TreeStream {
  readonly stream: ReadableStream<Uint8Array>;
  /** The cursor of the next page, if there is one. */
  readonly nextToken?: string | undefined;
}

/** The items of one key as the tree shows them: its identifier, and the JSON texts of its items page by page. */
export interface TreeBranch {
  readonly user: string;
  readonly pages: AsyncIterable<readonly Uint8Array[]>;
}

const encoder = new TextEncoder();
const COMMA = encoder.encode(',');

async function* treeChunks(
  branches: AsyncIterable<TreeBranch>,
  wanted: string | undefined,
  end: () => void,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    let lead = '{';
    for await (const { user, pages } of branches) {
      const head = `${lead}${JSON.stringify(user)}:[`;
      let before = head;
      for await (const texts of pages) {
        if (texts.length > 0) {
          yield Buffer.concat(texts.flatMap((text, i) => [i === 0 ? encoder.encode(before) : COMMA, text]));
          before = ',';
        }
      }
      if (before === ',' || user === wanted) {
        yield encoder.encode(before === ',' ? ']' : `${head}]`);
        lead = ',';
      }
    }
    yield encoder.encode(lead === '{' ? '{}' : '}');
  } finally {
    end();
  }
}

/**
 * The tree as a stream of JSON text. A key without items is omitted, unless it is the requested one. An error
 * before the first chunk rejects. `end` is called when the stream is over, also when it is cancelled.
 */
export function treeStream(
  branches: AsyncIterable<TreeBranch>,
  wanted?: string,
  end: () => void = () => undefined,
): Promise<ReadableStream<Uint8Array>> {
  return streamOf(treeChunks(branches, wanted, end));
}
