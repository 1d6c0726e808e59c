import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { EMPTY, utf8 } from '../../workers/crypto/primitives/bytes.ts';
import type { ProxyOutcome } from '../../workers/jobs/proxy/jobs.ts';
import { AID, codeOf, JOB, openProxyBench, type ProxyBench, request } from './proxy-bench.ts';

const NUMBER = '5555555555554444';
const webhook = { url: 'https://shop.example/hooks', metadata: { order: 1.1, status_code: 'mine' } };
const ORDER = { request: request({ method: 'GET' }), webhook };
const INFO = { token: 'tok', user: 'customers', stored_at: '2026-01-31T12:00:00.123Z' };
const HEADERS = [['Content-Type', 'application/json']] as const;

const PLACE = { aid: AID, id: JOB };

let bench: ProxyBench;
let plain: Uint8Array;
let smart: Uint8Array;

beforeAll(async () => {
  bench = await openProxyBench();
  [plain, smart] = [await bench.fetch(ORDER), await bench.fetch(ORDER, { smartParse: true })];
});
afterAll(() => bench.close());

/** What becomes of sealing a report. */
function sealed(job: Uint8Array, outcome: ProxyOutcome): Promise<string> {
  return codeOf(bench.crypto.sealReport({ place: PLACE, job, outcome, content: EMPTY }));
}

describe('the report', () => {
  const stored = { kind: 'stored', statusCode: 201, headers: HEADERS, tokenInfo: INFO } as const;
  const head = '{"headers":[{"Content-Type":"application/json"}],"status_code":201';

  test('of a fetch is the same for a caller who waits and for the webhook', async () => {
    const { reply, told } = await bench.reports(plain, stored, EMPTY);
    expect(told).toBe(`${head},"token_info":${JSON.stringify(INFO)},"order":1.1}`);
    expect(reply).toBe(told);
    const parsed = await bench.reports(smart, stored, utf8('{"n":"{{card_number}}"}'));
    expect(parsed.told).toBe(
      `${head},"token_info":${JSON.stringify(INFO)},"body":"{\\"n\\":\\"{{card_number}}\\"}","order":1.1}`,
    );
    expect(parsed.reply).toBe(parsed.told);
  });

  test('of a fetch that was not stored has no token and no body', async () => {
    const outcome = { kind: 'unstored', statusCode: 201, headers: HEADERS } as const;
    const { reply, told } = await bench.reports(plain, outcome, utf8(NUMBER));
    expect([reply, told]).toEqual([`${head},"order":1.1}`, `${head},"order":1.1}`]);
  });

  test('of what was sent is the reply in the charset that it names', async () => {
    const { job, shown } = await bench.fill(await bench.store({ n: NUMBER }), ORDER, { debug: 'plain' });
    const reports = (contentType: string, bytes: Uint8Array) => {
      const headers = [
        ['X-A', '1'],
        ['content-TYPE', contentType],
        ['X-A', '2'],
      ] as const;
      return bench.reports(job, { kind: 'reply', statusCode: 402, headers }, bytes, shown);
    };
    const { reply, told } = await reports('text/plain; charset=latin1', Buffer.from('J\u00fcrgen', 'latin1'));
    expect(JSON.parse(reply)).toEqual({
      status_code: 402,
      headers: [{ 'X-A': '1' }, { 'content-TYPE': 'text/plain; charset=latin1' }, { 'X-A': '2' }],
      body: 'Jürgen',
      populated_template: {
        method: 'GET',
        url: 'https://psp.example/charges',
        headers: [{ 'Content-Type': 'application/json' }],
      },
    });
    expect(Object.keys(JSON.parse(told))).toEqual(['headers', 'body', 'status_code', 'order']);
    const broken = Uint8Array.of(0xef, 0xbb, 0xbf, 0x61, 0xff);
    for (const charset of ['utf-8', 'iso-2022-kr', 'none-such']) {
      expect(JSON.parse((await reports(`text/plain;charset=${charset}`, broken)).told).body).toBe(
        '\ufeffa\ufffd',
      );
    }
  });

  test('tells the webhook and its secret, and needs one', async () => {
    const hook = { ...webhook, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', max_attempts: 3 };
    const job = await bench.fetch({ ...ORDER, webhook: hook });
    const told = await bench.reports(job, stored, EMPTY);
    const report = await bench.crypto.openReport({ place: PLACE, report: told.sealed });
    expect(report.facts).toMatchObject({ url: webhook.url, maxAttempts: 3, account: 'shop' });
    expect(report.secret?.expose()).toBe(hook.secret);
    const bare = await bench.fetch({ request: request(), synchronous: true });
    expect(await sealed(bare, stored)).toBe('internal');
    const unsigned = (await bench.reports(plain, stored, EMPTY)).sealed;
    expect((await bench.crypto.openReport({ place: PLACE, report: unsigned })).secret).toBeUndefined();
  });

  test('is of an outcome that its job can have', async () => {
    const reply = { kind: 'reply', statusCode: 200, headers: [] } as const;
    expect(await sealed(plain, reply)).toBe('internal');
    const { job } = await bench.fill(await bench.store({ n: NUMBER }), ORDER);
    expect(await sealed(job, stored)).toBe('internal');
  });
});
