/** What a server process tells of itself as it starts. */

type Server = Bun.Subprocess<'ignore', 'pipe', 'pipe'>;

/**
 * Reads what a server prints, into `printed`, for as long as it runs; gives its port as soon as that is known, and
 * rejects with all that was printed when the server ends before.
 */
export const portOf = (child: Server, printed: string[]): Promise<number> => {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const read = async (stream: Server['stdout']): Promise<void> => {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of stream) {
      const piece = decoder.decode(chunk, { stream: true });
      printed.push(piece);
      text += piece;
      const port = / API +http:\/\/[^:]+:(\d+)\/v1$/m.exec(text)?.[1];
      if (port !== undefined) {
        text = '';
        resolve(Number(port));
      }
    }
  };
  Promise.all([read(child.stdout), read(child.stderr)])
    .then(() => reject(new Error(`the server ended: ${printed.join('')}`)))
    .catch(reject);
  return promise;
};
