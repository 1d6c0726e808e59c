import net from 'node:net';

/** What came back over a socket, and whether the other side has ended it. */
export interface Talk {
  readonly text: string;
  readonly isClosed: boolean;
}

/** The bytes to send, when the answer is enough (else the end of the connection is), and what to send after. */
export type TalkArguments = readonly [
  bytes: string,
  isEnough?: ((text: string) => boolean) | undefined,
  feed?: (socket: net.Socket) => void,
];

/** Sends bytes to a server as they are and gives what comes back, once it is enough or the connection ends. */
export function talkTo(
  port: number | undefined,
  ...[bytes, isEnough = () => false, feed = () => undefined]: TalkArguments
): Promise<Talk> {
  return new Promise((resolve) => {
    let text = '';
    const socket = net.connect(port ?? 0, '127.0.0.1', () => {
      socket.write(bytes, 'latin1');
      feed(socket);
    });
    socket.on('data', (data) => {
      text += data.toString('latin1');
      if (!isEnough(text)) {
        return;
      }
      socket.destroy();
      resolve({ text, isClosed: false });
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve({ text, isClosed: true }));
  });
}
