/**
 * Begins a sequence of chunks, so that what fails with the first one is a refusal and not a broken reply. Then
 * pulls only as fast as the connection takes it, and stops all work when the caller goes away.
 */
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
