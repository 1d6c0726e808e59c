import { streamOf } from '../common/byte-stream.ts';

/** A tree of items as JSON text, piece by piece. An error in it aborts the connection. */
export interface TreeStream {
  readonly stream: ReadableStream<Uint8Array>;
  readonly nextToken?: string | undefined;
}

const encoder = new TextEncoder();

/** One key's items on their way out: its identifier, and the JSON texts of its items page by page. */
export interface Branch {
  readonly user: string;
  readonly pages: AsyncIterable<readonly Uint8Array[]>;
}

/** A list as a sequence that is waited for. */
export async function* toAsync<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

/** The tree as JSON text. A key without items is left out, unless it is the one that was asked for. */
async function* treeChunks(
  branches: AsyncIterable<Branch>,
  wanted: string | undefined,
): AsyncGenerator<Uint8Array, void, void> {
  let opened = false;
  const head = (user: string): string => {
    const text = `${opened ? ',' : '{'}${JSON.stringify(user)}:[`;
    opened = true;
    return text;
  };
  for await (const { user, pages } of branches) {
    let begun = user === wanted;
    let lead = begun ? head(user) : '';
    let comma = '';
    for await (const texts of pages) {
      if (texts.length === 0) {
        continue;
      }
      if (!begun) {
        lead = head(user);
        begun = true;
      }
      const chunks: Uint8Array[] = [];
      for (const text of texts) {
        chunks.push(encoder.encode(lead + comma), text);
        lead = '';
        comma = ',';
      }
      yield Buffer.concat(chunks);
    }
    if (begun) {
      yield encoder.encode(`${lead}]`);
    }
  }
  yield encoder.encode(opened ? '}' : '{}');
}

/** Passes chunks on and tells when there will be no more, for whatever reason. */
async function* untilOver(
  chunks: AsyncGenerator<Uint8Array, void, void>,
  end: () => void,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* chunks;
  } finally {
    end();
  }
}

/** The tree as a stream of JSON text; `end` hears when it is over, also when nobody read it to its end. */
export function treeStream(
  branches: AsyncIterable<Branch>,
  wanted?: string,
  end: () => void = () => undefined,
): Promise<ReadableStream<Uint8Array>> {
  return streamOf(untilOver(treeChunks(branches, wanted), end));
}
