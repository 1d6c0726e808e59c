/** Bytes on a socket that are nearly requests: each is answered, or ends its connection, and nothing else happens. */
import { listen } from '../../server/http/listen/listen.ts';
import { basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';
import { talkTo } from '../http/talk.ts';
import { type Chance, chanceOfCase } from './chance.ts';
import { damagedText } from './mutate.ts';
import { hold, type Suite } from './suite.ts';
import { CANARY } from './values.ts';
import { openWorld } from './world.ts';

/** How long an answer is waited for where the bytes may be the beginning of a longer request. */
const PATIENCE_MS = 150;
const HEAD_END = '\r\n\r\n';

function rawRequests(credentials: string, id: string, secret: string): readonly [string, ...string[]] {
  const head = `Host: vault.test\r\nAuthorization: ${credentials}\r\nX-Note: ${CANARY}\r\n`;
  const card = '{"card_number":"4111111111111111"}';
  const sized = `Content-Type: application/json\r\nContent-Length: ${card.length}\r\n\r\n${card}`;
  const chunked = `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const pass = `X-Vault-Passphrase: ${encodeURIComponent(PASSPHRASE)}\r\n`;
  return [
    `GET /v1/whoami HTTP/1.1\r\n${head}\r\n`,
    `GET /v1/vault?user=shop&limit=3 HTTP/1.1\r\n${head}\r\n`,
    `POST /v1/vault?user=shop HTTP/1.1\r\n${head}${pass}${sized}`,
    `POST /v1/vault?user=shop HTTP/1.1\r\n${head}${pass}${chunked}${card.length.toString(16)}\r\n${card}\r\n0${HEAD_END}`,
    `POST /v1/capture/${id} HTTP/1.1\r\nHost: vault.test\r\nX-Vault-Capture-Secret: ${secret}\r\n${sized}`,
    `GET /v1/vault?user=shop&decrypt_all=true HTTP/1.1\r\n${head}${pass}\r\n`,
    `OPTIONS /v1/capture/${id} HTTP/1.1\r\nHost: vault.test\r\nOrigin: https://shop.example\r\n\r\n`,
    `GET /v1/whoami HTTP/1.1\r\n${head}\r\nGET /v1/whoami HTTP/1.1\r\n${head}\r\n`,
  ];
}

export const WIRE: Suite = {
  name: 'wire',
  share: 40,
  atOnce: 32,
  open: async () => {
    const vault = await openTestVault({ authFailuresMax: 0, alone: true });
    const { owner, fitting, secrets } = await openWorld(vault);
    const [id] = fitting(chanceOfCase(0, 'wire', 0), 'capture').get('unique_id') ?? [''];
    const server = listen(vault.app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
    const requests = rawRequests(basicAuth(owner.name, owner.password), id, secrets.capture);
    const isAlive = async (): Promise<boolean> =>
      (await fetch(`http://127.0.0.1:${server.port}/health/live`)).status === 200;
    const run = async (chance: Chance, number: number): Promise<void> => {
      const bytes = damagedText(chance.pick(requests), chance);
      const { text } = await talkTo(
        server.port,
        bytes,
        (soFar) => soFar.includes(HEAD_END),
        (socket) => {
          setTimeout(() => socket.destroy(), PATIENCE_MS);
        },
      );
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
      hold(text === '' || status !== undefined, () => `no HTTP: ${JSON.stringify(text.slice(0, 100))}`);
      hold(status !== '500', () => `500 for ${JSON.stringify(bytes)}`);
      hold(!text.includes(CANARY), () => `a header came back for ${JSON.stringify(bytes)}`);
      hold(number % 500 !== 0 || (await isAlive()), () => 'the server does not answer any more');
    };
    return {
      run,
      finish: async () => {
        hold(await isAlive(), () => 'the server does not answer any more');
        const logged = JSON.stringify([vault.lines, vault.events]);
        hold(!logged.includes('4111111111111111'), () => 'the log holds a card number');
        await server.stop(true);
        await vault.close();
      },
    };
  },
};
