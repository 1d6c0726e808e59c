/** A reply that is a file, as a stream. */

import type { ApiCall } from './call.ts';
import type { Transport } from './transport.ts';

/** Sends a call and returns its reply, which is received as fast as it is read. A reply that breaks off fails the stream. */
export async function openFile(transport: Transport, call: ApiCall): Promise<ReadableStream<Uint8Array>> {
  const { pieces } = await transport.stream(call);
  return new ReadableStream<Uint8Array>({
    pull: async (stream) => {
      const { done, value } = await pieces.next();
      if (done) {
        stream.close();
      } else {
        stream.enqueue(value);
      }
    },
    cancel: async () => {
      await pieces.return();
    },
  });
}
