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
): AsyncGenerator<Uint8Array> {
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

/**
 * Begins the tree, so that what fails with its first page is a refusal and not a broken reply. Then pulls only as
 * fast as the connection takes it, and stops all work when the caller goes away.
 */
export async function treeStream(
  branches: AsyncIterable<Branch>,
  wanted?: string,
): Promise<ReadableStream<Uint8Array>> {
  const chunks = treeChunks(branches, wanted);
  let next: Promise<IteratorResult<Uint8Array, void>> | undefined = Promise.resolve(await chunks.next());
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await (next ?? chunks.next());
        next = undefined;
        if (done) {
          controller.close();
        } else {
          controller.enqueue(value);
        }
      },
      async cancel() {
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 1 },
  );
}
