import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { failureText, mayPass } from '../../forms/page/failure-text.ts';
import { bodyOf, call, callUrl, createAttemptKeys, parseExact } from '../../forms/page/submit.ts';

/** Answers with the replies in turn, and keeps what it was asked and how long was waited. */
function service(...replies: (Response | Error)[]) {
  const asked: { url: string; init: RequestInit }[] = [];
  const waits: number[] = [];
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    asked.push({ url, init });
    const reply = replies.shift();
    if (reply === undefined || reply instanceof Error) {
      throw reply ?? new TypeError('Failed to fetch');
    }
    return reply;
  };
  const wait = async (seconds: number): Promise<void> => {
    waits.push(seconds);
  };
  return { asked, waits, parts: { fetch, wait } };
}

function refusal(status: number, code: string, headers: Record<string, string> = {}): Response {
  return Response.json(
    { error: 'A sentence.', code, field: 'body.cvv', request_id: '1' },
    { status, headers },
  );
}

const INIT = { method: 'POST', headers: { 'Idempotency-Key': 'k' }, body: '{}' };

describe('a call', () => {
  test('gives the reply, and goes out without cookies or address', async () => {
    const { asked, parts } = service(Response.json({ token: 't' }));
    expect(await call('https://vault.example/x', INIT, parts)).toEqual({ reply: { token: 't' } });
    expect(asked[0]?.init).toMatchObject({
      ...INIT,
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      cache: 'no-store',
      redirect: 'error',
    });
  });

  test('waits and tries again while the service is busy', async () => {
    const busy = () => refusal(503, 'overloaded', { 'Retry-After': '2' });
    const { asked, waits, parts } = service(busy(), busy(), busy(), Response.json({ token: 't' }));
    expect(await call('u', INIT, parts)).toEqual({ reply: { token: 't' } });
    expect(waits).toEqual([2, 2, 2]);
    expect(asked.map(({ init }) => init.headers)).toEqual(Array(4).fill(INIT.headers));
  });

  test('waits for the reply of the same request, and not for that of another one', async () => {
    const conflict = (headers?: Record<string, string>) => refusal(409, 'idempotency_conflict', headers);
    const same = service(conflict({ 'Retry-After': '1' }), Response.json({ token: 't' }));
    expect(await call('u', INIT, same.parts)).toEqual({ reply: { token: 't' } });
    const other = service(conflict(), Response.json({ token: 't' }));
    expect(await call('u', INIT, other.parts)).toMatchObject({ failure: { status: 409 } });
    expect([same.waits, other.waits]).toEqual([[1], []]);
  });

  test('gives up after three more tries', async () => {
    const busy = () => refusal(429, 'jobs_full', { 'Retry-After': '1' });
    const { asked, parts } = service(busy(), busy(), busy(), busy());
    expect(await call('u', INIT, parts)).toMatchObject({ failure: { status: 429, code: 'jobs_full' } });
    expect(asked).toHaveLength(4);
  });

  test.each([{ 'Retry-After': '900' }, { 'Retry-After': 'Wed, 21 Oct 2026 07:28:00 GMT' }, {}])(
    'does not wait for %p',
    async (headers) => {
      const { waits, parts } = service(refusal(429, 'too_many_failures', headers as Record<string, string>));
      expect(await call('u', INIT, parts)).toMatchObject({ failure: { status: 429 } });
      expect(waits).toEqual([]);
    },
  );

  test('tells of a refusal with code, sentence and field', async () => {
    const { parts } = service(refusal(400, 'test_card'));
    expect(await call('u', INIT, parts)).toEqual({
      failure: { status: 400, code: 'test_card', error: 'A sentence.', field: 'body.cvv' },
    });
  });

  test('gives numbers as the texts that they were', async () => {
    const body = String.raw`{"a":12345678901234567,"b":[4111111111111111110, -1.10, 1e400,0.0],"c":"1.10 \"2","d\\":3,
      "é 4":"\u00e9\\\\", "e":true,"f":null,"__proto__":5}`;
    const { parts } = service(new Response(body));
    const outcome = await call('u', INIT, parts);
    expect('reply' in outcome && Object.entries(Object(outcome.reply))).toEqual([
      ['a', '12345678901234567'],
      ['b', ['4111111111111111110', '-1.10', '1e400', '0.0']],
      ['c', '1.10 "2'],
      ['d\\', '3'],
      ['é 4', 'é\\\\'],
      ['e', true],
      ['f', null],
      ['__proto__', '5'],
    ]);
  });

  test('without a reply the status is 0', async () => {
    const { parts } = service();
    expect(await call('u', INIT, parts)).toMatchObject({ failure: { status: 0, code: 'network' } });
  });

  test('a reply that is not JSON is a failure', async () => {
    const { parts } = service(
      new Response('<html>', { status: 200 }),
      new Response('<html>', { status: 502 }),
    );
    expect(await call('u', INIT, parts)).toEqual({ failure: { status: 200, code: 'unknown', error: '' } });
    expect(await call('u', INIT, parts)).toEqual({ failure: { status: 502, code: 'unknown', error: '' } });
  });
});

test('JSON of any kind is read as it is, but for its numbers', () => {
  const quoted = (value: unknown): unknown => {
    if (typeof value === 'number') {
      return JSON.stringify(value);
    }
    if (typeof value !== 'object' || value === null) {
      return value;
    }
    return Array.isArray(value)
      ? value.map(quoted)
      : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, quoted(member)]));
  };
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
      expect(parseExact(JSON.stringify(value, null, indent))).toEqual(quoted(value));
    }),
  );
});

test('the address has the id and the parameters escaped, and none that is left out', () => {
  expect(
    callUrl('https://v.example/base', 'capture', 'a b', {
      reference: 'x&y',
      form_type: 'pcd',
      token: undefined,
    }),
  ).toBe('https://v.example/base/v1/capture/a%20b?reference=x%26y&form_type=pcd');
});

test('fields win over extra texts, and empty fields are dropped', () => {
  expect(
    JSON.parse(bodyOf({ order: '7', cvv: '999', card_holder: 'Bob' }, { cvv: '123', card_holder: '' })),
  ).toEqual({
    order: '7',
    cvv: '123',
    card_holder: 'Bob',
  });
});

describe('the key of an attempt', () => {
  const keys = () => {
    let made = 0;
    return createAttemptKeys(() => {
      made += 1;
      return `key-${made}`;
    });
  };
  const failed = (status: number) => ({ failure: { status, code: 'c', error: '' } });

  test.each([0, 409, 429, 500, 502, 503, 504])('stays for the same body after %d', (status) => {
    const attempts = keys();
    expect(attempts.keyFor('a')).toBe('key-1');
    attempts.settle(failed(status));
    expect(attempts.keyFor('a')).toBe('key-1');
    expect(attempts.keyFor('b')).toBe('key-2');
  });

  test.each([400, 403, 404, 410, 413])('is fresh after %d', (status) => {
    const attempts = keys();
    attempts.keyFor('a');
    attempts.settle(failed(status));
    expect(attempts.keyFor('a')).toBe('key-2');
  });

  test('is fresh after a success, and once the body is forgotten', () => {
    const attempts = keys();
    attempts.keyFor('a');
    attempts.settle({ reply: {} });
    expect(attempts.keyFor('a')).toBe('key-2');
    attempts.forget();
    expect(attempts.keyFor('a')).toBe('key-3');
  });
});

describe('sentences', () => {
  const textFor = (status: number, code: string) => failureText({ status, code, error: '' });

  test.each([
    [0, 'network', 'e_network'],
    [0, 'not_connected', 'e_unconnected'],
    [400, 'test_card', 'e_test'],
    [400, 'invalid_request', 'e_invalid'],
    [403, 'endpoint_refused', 'e_refused'],
    [404, 'token_not_found', 'e_missing'],
    [409, 'idempotency_conflict', 'e_busy'],
    [410, 'endpoint_gone', 'e_gone'],
    [429, 'too_many_failures', 'e_limit'],
    [503, 'overloaded', 'e_busy'],
    [502, 'constructor', 'e_server'],
  ] as const)('%d %s is %s', (status, code, text) => {
    expect(textFor(status, code)).toBe(text);
  });

  test('another try is offered only where it may help', () => {
    expect(mayPass({ status: 0, code: 'network', error: '' })).toBe(true);
    expect(mayPass({ status: 500, code: 'internal', error: '' })).toBe(true);
    expect(mayPass({ status: 410, code: 'endpoint_gone', error: '' })).toBe(false);
    expect(mayPass({ status: 400, code: 'test_card', error: '' })).toBe(false);
  });
});
