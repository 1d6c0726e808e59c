/** Streams chunks at the speed of the connection. A failure of the first one rejects, so that the reply is an error. */
export async function streamOf(
  chunks: AsyncGenerator<Uint8Array, void, void>,
): Promise<ReadableStream<Uint8Array>> {
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
        await chunks.return();
      },
    },
    { highWaterMark: 1 },
  );
}

const encoder = new TextEncoder();

async function* listChunks(
  members: AsyncIterable<readonly object[]>,
): AsyncGenerator<Uint8Array, void, void> {
  let lead = '[';
  for await (const some of members) {
    if (some.length > 0) {
      yield encoder.encode(lead + some.map((member) => JSON.stringify(member)).join());
      lead = ',';
    }
  }
  yield encoder.encode(lead === '[' ? '[]' : ']');
}

/** The JSON text of a list, as UTF-8, whose members come in parts: together they may be large. */
export function listStreamOf(members: AsyncIterable<readonly object[]>): Promise<ReadableStream<Uint8Array>> {
  return streamOf(listChunks(members));
}

/** Passes a stream on, and calls `end` once when it ended, failed, or was cancelled. */
export function untilClosed(stream: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) {
            controller.enqueue(value);
            return;
          }
          end();
          controller.close();
        } catch (error) {
          end();
          throw error;
        }
      },
      async cancel(reason) {
        end();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
