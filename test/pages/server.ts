import { join } from 'node:path';
import { freePort } from '../helpers/free-port.ts';

/** A server with data of its own, as somebody who tries the guides has it. */
export interface GuideServer {
  readonly url: string;
  /** Of the account `admin`, as printed at the first start. */
  readonly password: string;
  /** All that was printed up to that password. */
  readonly greeting: string;
  readonly dataDir: string;
  readonly stop: () => Promise<void>;
}

const MAIN = join(import.meta.dir, '..', '..', 'server', 'main.ts');
const GREETING = /API +(?<url>http:\S+)\/v1.*password +(?<password>\S+)\n/s;

/** Starts a server on an empty data folder and a free port, and reads what it prints for its first user. */
export async function startServer(
  dataDir: string,
  settings: Readonly<Record<string, string>>,
): Promise<GuideServer> {
  // Forms name the server's own URL, which therefore has to be known before it listens.
  const port = String(freePort());
  const server = Bun.spawn([process.execPath, MAIN], {
    env: {
      PATH: process.env['PATH'],
      VAULT_DATA_DIR: dataDir,
      VAULT_PORT: port,
      VAULT_CONSOLE_URL: `http://localhost:${port}`,
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ready = Promise.withResolvers<Pick<GuideServer, 'url' | 'password' | 'greeting'>>();
  // Read to the end: the server goes on logging, and must not meet a closed pipe.
  const read = async (): Promise<void> => {
    let text = '';
    for await (const chunk of server.stdout.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const { url, password } = GREETING.exec(text)?.groups ?? {};
      if (url !== undefined && password !== undefined) {
        ready.resolve({ url, password, greeting: text });
      }
    }
    ready.reject(new Error(`The server did not start: ${text}`));
  };
  read().catch(ready.reject);
  const stop = async (): Promise<void> => {
    server.kill('SIGTERM');
    await server.exited;
  };
  return { ...(await ready.promise), dataDir, stop };
}
