/** A credential with `proxy:send` alone uses a card and never sees it, whatever it tries: `attempts.ts` has the list. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { luhnCheckDigit } from '../../../server/domain/card/luhn.ts';
import { ROUTES } from '../../../server/http/routes/table.ts';
import { credentialClient } from '../../helpers/credentials.ts';
import { proxyPost, requestTo } from '../../helpers/proxy.ts';
import { type Attempted, attemptAll, expectedOf } from './attempts.ts';
import { CARD, openStage, type Stage, seenOf, shownOf } from './stage.ts';

const ATTEMPTS_MS = 120_000;

let stage: Stage;
let attempted: Awaited<ReturnType<typeof attemptAll>>;

beforeAll(async () => {
  stage = await openStage();
  attempted = await attemptAll(stage);
}, ATTEMPTS_MS);
afterAll(() => stage.close());

function revealing(attempts: readonly Attempted[] = []): readonly Attempted[] {
  return attempts.filter(({ shown }) => shown.length > 0);
}

describe('a credential that may use and not see', () => {
  test('is refused on every route that its scope is not for', () => {
    const outcomes = Object.fromEntries(
      attempted['routes']?.map(({ attempt, outcome }) => [attempt, outcome]) ?? [],
    );
    const allowed = ROUTES.filter(({ scope }) => ['proxy:send', 'any', 'none'].includes(String(scope)));
    const refused = ROUTES.filter((route) => !allowed.includes(route));
    expect(refused.length).toBeGreaterThan(40);
    for (const { operationId } of refused) {
      expect([operationId, outcomes[operationId]]).toEqual([operationId, '403 not_allowed']);
    }
    expect(revealing(attempted['routes'])).toEqual([]);
  });

  test('sees nothing in replies that repeat what was sent, in whatever notation', () => {
    expect(attempted['echoes']?.length).toBeGreaterThan(25);
    expect(revealing(attempted['echoes'])).toEqual([]);
    for (const { attempt, outcome } of attempted['echoes'] ?? []) {
      expect([attempt, outcome]).toEqual([attempt, expectedOf(attempt)]);
    }
  });

  test('sees nothing at its webhook, in errors, and in replies of others', () => {
    expect(revealing(attempted['webhooks'])).toEqual([]);
    expect(revealing(attempted['more'])).toEqual([]);
  });

  test('has sent the card all the same', () => {
    const sent = stage.party.calls('/echo').map(({ text }) => text);
    expect(sent).toContain(`{"number":"${CARD.card_number}","cvc":"${CARD.cvv}"}`);
    expect(stage.party.calls(`/echo/${CARD.card_number}`).length).toBeGreaterThan(0);
  });

  test('leaves nothing of it in logs, events, metrics and the security log', async () => {
    const { vault, account, token } = stage;
    await vault.opened.services.audit.flush();
    const metrics = await vault.handle(new Request('http://localhost/metrics'));
    const query = { user: 'u', token, limit: 200 };
    const jobReader = await credentialClient(vault.handle, account, ['job:read'], { keys: ['u'] });
    const texts = [
      JSON.stringify(vault.lines),
      JSON.stringify(vault.events),
      // Without the figures, which may be any.
      (await metrics.text()).replaceAll(/ [\d.e+-]+$/gm, ''),
      (await account.send('GET', '/audit', { query: { limit: 200 } })).text,
      (await account.send('GET', '/vault/metadata', { query })).text,
      (await account.send('GET', '/usage')).text,
      (await jobReader.send('GET', '/proxy/job', { query: { limit: 100 } })).text,
    ];
    for (const text of texts) {
      expect(text.length).toBeGreaterThan(20);
      expect(shownOf(text.replaceAll(/"(?:ms|attempt|\w+_ms)":[\d.]+/g, ''))).toEqual([]);
    }
  });
});

/** Numbers that could be the stored one, to someone who knows its start and its last digits. */
function guesses(count: number): string[] {
  const { card_number: number } = CARD;
  return Array.from({ length: count }, (_, at) => {
    const start = `${number.slice(0, 6)}${String(at).padStart(6, '0')}${number.slice(12, 15)}`;
    return start + luhnCheckDigit(start);
  });
}

describe('whoever has guesses repeated', () => {
  async function repeated(body: string): Promise<string> {
    const { party, user, token } = stage;
    party.script('/guess', (request) => ({ body: request.text }));
    const request = requestTo(party.url('/guess'), { body });
    const answer = await proxyPost({ account: user, user: 'u', token }, { request, synchronous: true });
    expect(answer.outcome).toBe('200');
    return answer.as<{ body: string }>().body;
  }

  test('does not learn from the mask which number is right', async () => {
    const list = [...guesses(40), CARD.card_number].sort();
    const masks = (await repeated(list.join(' a '))).split(' a ');
    expect(new Set(masks.map((mask: string) => mask.replaceAll(/\d/g, '')))).toEqual(
      new Set(['************']),
    );
    const few = guesses(5);
    expect((await repeated(few.join(' a '))).split(' a ')).toEqual(few);
    expect(shownOf(await repeated(list.join()))).toEqual([]);
  });

  test('does not learn which code is right', async () => {
    const codes = Array.from({ length: 200 }, (_, at) => String(7_300 + at));
    const names = JSON.parse(await repeated(JSON.stringify(codes.map((cvv) => ({ cvv })))));
    expect(names).toEqual(codes.map(() => ({ cvv: '********' })));
    const elsewhere = codes.map((code) => `a${code}z`);
    expect(JSON.parse(await repeated(JSON.stringify(elsewhere)))).toEqual(elsewhere);
  });
});

test('with vault:read and unmasked output, replies are shown as they are', async () => {
  const { party, account, token } = stage;
  party.script('/echo', (request) => ({ body: request.text }));
  const order = { request: requestTo(party.url('/echo'), { body: '{{card_number}}' }), synchronous: true };
  const answer = await proxyPost({ account, user: 'u', token }, order);
  expect(shownOf(seenOf(answer))).not.toEqual([]);
});
