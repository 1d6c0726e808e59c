/** A way between server and Redis that can lose replies, or hold everything back and say nothing. */
import { connect, createServer, type Socket } from 'node:net';

export interface Link {
  readonly port: number;
  /** Every so many replies, the connection is reset instead of the reply; 0 for never. */
  loseEvery: number;
  /** Nothing gets through until it is over; then all does, as after TCP has sent it again. */
  isSilent: boolean;
  readonly lost: () => number;
  readonly stop: () => void;
}

/** Opens a way to a port of 127.0.0.1. */
export async function openLink(to: number): Promise<Link> {
  const sockets = new Set<Socket>();
  let [replies, lost] = [0, 0];
  let isSilent = false;
  const hold = (socket: Socket): Socket => {
    sockets.add(socket);
    if (isSilent) {
      socket.pause();
    }
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1');
    hold(near).on('close', () => far.destroy());
    hold(far).on('close', () => near.destroy());
    near.on('data', (data) => far.write(data));
    far.on('data', (data) => {
      replies += 1;
      if (link.loseEvery > 0 && replies % link.loseEvery === 0) {
        lost += 1;
        near.resetAndDestroy();
        far.destroy();
      } else {
        near.write(data);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const link: Link = {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    loseEvery: 0,
    get isSilent() {
      return isSilent;
    },
    set isSilent(now) {
      isSilent = now;
      for (const socket of sockets) {
        now ? socket.pause() : socket.resume();
      }
    },
    lost: () => lost,
    stop: () => {
      server.close();
      for (const socket of sockets) {
        socket.destroy();
      }
    },
  };
  return link;
}
