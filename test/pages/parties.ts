/** The third parties of the guides: what stands for pay.example.com and shop.example.com while their examples run. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../helpers/free-port.ts';
import { type Act, type Received, startThirdParty, thirdPartyTrust } from '../helpers/third-party.ts';
import { newAuthority } from '../workers/crypto/authority.ts';
import { createPayments } from './payments.ts';

export interface GuideParties {
  /** The file with the authority of their certificates. */
  readonly caFile: string;
  /** A certificate of that authority for servers of a page's reader, and its key. */
  readonly certificate: { readonly certPem: string; readonly keyPem: string };
  /** The port of 127.0.0.1 to which calls of shop.example.com go, a free one until somebody listens. */
  readonly shopPort: number;
  /** What a guide says, and what is meant on this machine. */
  readonly here: readonly (readonly [said: string, meant: string])[];
  readonly stop: () => void;
}

function reply(status: number, body: object): Act {
  return {
    status,
    headers: [['Content-Type', 'application/json']],
    body: JSON.stringify(body),
  };
}

/** Who pays is charged, if the card is told as the guides tell it. */
function charge({ text }: Received): Act {
  const { amount, number } = JSON.parse(text);
  return typeof amount === 'number' && /^\d{16}$/.test(number)
    ? reply(201, { id: 'ch_1001', status: 'paid', last_four: number.slice(-4) })
    : reply(400, { error: 'no card' });
}

const OLD_VAULT_KEY = 'Bearer key-of-the-old-vault';

/** A card that another vault shows to whoever has its key. */
function oldCard(customer: string, number: string) {
  return ({ header }: Received): Act =>
    header('authorization') === OLD_VAULT_KEY
      ? reply(200, { customer, card: { number, exp_month: 4, exp_year: 2031, name: 'Ada Lovelace' } })
      : reply(401, { error: 'no key' });
}

/** A payment service. It asks for client certificates of an authority of its own, which it also issues. */
async function startPay() {
  const clients = await newAuthority('Pay Example Clients');
  const pay = await startThirdParty({ requestCert: true, rejectUnauthorized: false, ca: clients.pem });
  pay.script('/charges', charge);
  pay.script('/busy/charges', 503, charge);
  pay.script('/broken/charges', 'reset');
  pay.script('/payments', createPayments());
  pay.script('/cards/7', {
    headers: [['Content-Type', 'application/xml']],
    body: '<card><pan>5555555555554444</pan><expires>01/30</expires><name>Ada Lovelace</name></card>',
  });
  pay.script('/vault/tok_900001', oldCard('cus_1', '4242424242424242'));
  pay.script('/vault/tok_900002', oldCard('cus_2', '5555555555554444'));
  pay.script('/vault/tok_900003', oldCard('cus_3', '4242424242424242'));
  pay.script('/client-certificates', async ({ text }) => ({
    headers: [['Content-Type', 'application/x-pem-file']],
    body: await clients.issue(text),
  }));
  pay.script('/whoami', ({ client }) =>
    client === undefined ? reply(403, { error: 'no certificate' }) : reply(200, { client }),
  );
  return pay;
}

/** A shop whose own server hands the calls on to whoever listens on a port behind it. */
async function startShop(port: number) {
  const shop = await startThirdParty();
  shop.script('/webhooks', async ({ headers, body }) => {
    const handed = headers.map(([name, value]): [string, string] => [name, value]);
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: handed, body });
    return answer.status;
  });
  return shop;
}

/** Starts them on free ports of 127.0.0.1 and writes their authority into a folder. */
export async function startParties(folder: string): Promise<GuideParties> {
  const caFile = join(folder, 'third-parties.pem');
  const { authority, credential: certificate } = await thirdPartyTrust();
  writeFileSync(caFile, authority.pem);
  const shopPort = freePort();
  const [pay, shop] = await Promise.all([startPay(), startShop(shopPort)]);
  return {
    ...{ caFile, certificate, shopPort },
    here: [
      ['https://pay.example.com', pay.url('')],
      ['["pay.example.com"]', '["127.0.0.1"]'],
      ['https://shop.example.com', shop.url('')],
      ['http://127.0.0.1:3000', `http://127.0.0.1:${shopPort}`],
      ['.listen(3000,', `.listen(${shopPort},`],
      ['https://localhost:8443', `https://localhost:${shopPort}`],
      ['.listen(8443,', `.listen(${shopPort},`],
    ],
    stop: () => {
      pay.stop();
      shop.stop();
    },
  };
}
