import { expect, test } from 'bun:test';
import { createNetworkLookup } from '../../forms/page/networks.ts';

const TO = { api: 'https://vault.example', unique_id: 'web shop', secret: 'vcs1_secret' };

/** A look-up whose replies come when the test gives them. */
function lookup() {
  const asked: { readonly url: string; readonly answer: (reply: Response) => void }[] = [];
  const offered: (readonly string[])[] = [];
  const fetch = (url: string) =>
    new Promise<Response>((answer) => {
      asked.push({ url, answer });
    });
  const wait = async () => undefined;
  const look = createNetworkLookup(TO, { fetch, wait }, (networks) => offered.push(networks));
  return { asked, offered, look };
}

const TWO = ['visa', 'cartes-bancaires'];

test('a card is asked for once, by its first eight digits', async () => {
  const { asked, offered, look } = lookup();
  for (const digits of ['4', '4111111', '41111111', '411111111', '4111111111111111']) {
    look(digits);
  }
  expect(asked.map(({ url }) => url)).toEqual(['https://vault.example/v1/capture/web%20shop/bin/41111111']);
  asked[0]?.answer(Response.json({ networks: TWO }));
  await Bun.sleep(1);
  look('411111');
  look('4111111122');
  expect(asked).toHaveLength(1);
  expect(offered).toEqual([[], TWO, [], TWO]);
});

test('one network is no choice, and a reply to an earlier card none either', async () => {
  const { asked, offered, look } = lookup();
  look('41111111');
  look('55555555');
  asked[1]?.answer(Response.json({ networks: ['mastercard'] }));
  asked[0]?.answer(Response.json({ networks: TWO }));
  await Bun.sleep(1);
  expect(offered).toEqual([[], [], []]);
});

test('without a reply nothing is offered', async () => {
  const { asked, offered, look } = lookup();
  look('41111111');
  asked[0]?.answer(Response.json({ code: 'rate_limited' }, { status: 403 }));
  await Bun.sleep(1);
  expect(offered).toEqual([[], []]);
});
