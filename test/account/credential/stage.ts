/** A vault, a third party, and a credential that may use what it may not see. */

import { formsOf } from '../../helpers/canaries.ts';
import type { AccountClient, Answer } from '../../helpers/clients.ts';
import { credentialClient } from '../../helpers/credentials.ts';
import { localProxy, openProxyVault, requester } from '../../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../../helpers/third-party.ts';
import type { TestVault } from '../../helpers/vault.ts';
import { createReceiver, type Receiver } from '../../helpers/webhook.ts';

/** Its number and its code stand nowhere else in a message. */
export const CARD = {
  card_number: '5204740009900014',
  cvv: '7391',
  card_holder: 'Ada Lovelace',
  expiry_month: '12',
  expiry_year: '2031',
  note: 'card 5204 7400 0990 0014 of Ada',
} as const;
const LAST = 4;
/** So many digits of a number in a row are no chance. */
const WINDOW = 8;

/** What attempts are made with. */
export interface Stage {
  readonly vault: TestVault;
  readonly party: ThirdParty;
  readonly account: AccountClient;
  /** With `proxy:send` alone, for one key and one host. */
  readonly user: AccountClient;
  readonly token: string;
  readonly receiver: Receiver;
  /** Ids of rules of the account, by what they make. */
  readonly rules: readonly string[];
  readonly close: () => Promise<void>;
}

const RULES = {
  start: { name: 'substr', arguments: { start: 0, end: 12 } },
  bin: { name: 'substr', arguments: { start: 0, end: 6 } },
  middle: { name: 'substr', arguments: { start: 6, end: 12 } },
  spaced: { name: 'replace', arguments: { substr: '4', new_str: '4x' } },
  base64: { name: 'encode', arguments: { scheme: 'base64' } },
  digest: { name: 'hash', arguments: { algorithm: 'sha-256' } },
  text: { name: 'template', arguments: { template: 'no. {{card_number}} cvv {{cvv}}' } },
  parsed: { name: 'parse_json', arguments: {} },
} as const;

/** Makes a rule of the account for each operation, which puts what it makes of the number into `made`. */
async function makeRules(account: AccountClient): Promise<readonly string[]> {
  for (const [id, operation] of Object.entries(RULES)) {
    const body = [{ ...operation, input_field: 'card_number', output_field: 'made' }];
    const answer = await account.send('POST', '/rule', { query: { id }, body });
    if (answer.status !== 200) {
      throw new Error(`${id}: ${answer.text}`);
    }
  }
  return Object.keys(RULES);
}

/** Opens a stage; everything on it is a test's own. */
export async function openStage(): Promise<Stage> {
  const party = await startThirdParty();
  const proxy = { ...(await localProxy()), requesters: [requester('psp', party.url('/tokens'))] };
  const vault = await openProxyVault({ proxy });
  const account = await vault.account();
  await account.key('u');
  await account.key('other');
  const token = await account.store('u', CARD);
  const user = await credentialClient(vault.handle, account, ['proxy:send'], {
    ...{ keys: ['u'], hosts: ['127.0.0.1'] },
  });
  const rules = await makeRules(account);
  const close = async (): Promise<void> => {
    await vault.close();
    party.stop();
  };
  return { vault, party, account, user, token, receiver: createReceiver(party), rules, close };
}

/** What is seen of a reply: its headers and its body. */
export function seenOf({ headers, text }: Pick<Answer, 'headers' | 'text'>): string {
  return `${JSON.stringify([...headers])}\n${text}`;
}

const { card_number: NUMBER, cvv: CODE } = CARD;
const WINDOWS = Array.from({ length: NUMBER.length - LAST - WINDOW + 2 }, (_, at) =>
  NUMBER.slice(at, at + WINDOW),
);
const WHOLE = [...formsOf(NUMBER), ...formsOf(`no. ${NUMBER}`)];

/** What a text shows of the card that it must not show. */
export function shownOf(text: string): string[] {
  // ASCII in a charset of two bytes a character is still there.
  const views = [text, Buffer.from(text, 'latin1').toString('latin1')];
  for (const swaps of [false, true]) {
    const bytes = Buffer.from(text, 'utf16le');
    views.push((swaps && bytes.length % 2 === 0 ? bytes.swap16() : bytes).toString('latin1'));
  }
  return views.flatMap((view) => {
    const bare = view.replaceAll(/%[0-9a-f]{2}|&\w+;|\\[nu]|[^\p{L}\p{N}*]/giu, '');
    return [
      ...WINDOWS.filter((window) => bare.includes(window)),
      ...WHOLE.filter((form) => form !== '' && view.includes(form)),
      ...(new RegExp(`(?<![\\p{L}\\p{N}])${CODE}(?![\\p{L}\\p{N}])`, 'u').test(view) ? [CODE] : []),
    ];
  });
}
