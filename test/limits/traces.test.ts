import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { keepContextAtTickEnd } from '../../server/core/tick-end.ts';
import { Metrics } from '../../server/telemetry/metrics.ts';
import { encodeSpans, SPAN_ATTRIBUTES, type Span } from '../../server/telemetry/otlp.ts';
import { SpanExport } from '../../server/telemetry/trace-export.ts';
import { Tracer } from '../../server/telemetry/tracer.ts';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { scrape } from '../helpers/metrics.ts';
import { acceptedId, localProxy, newItem, proxyPost, requestTo } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { createReceiver } from '../helpers/webhook.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const RESOURCE = { version: '1.2.3', environment: 'staging' };

let vault: TestVault;
let party: ThirdParty;
let client: AccountClient;
const spans: Span[] = [];
keepContextAtTickEnd();
const tracer = new Tracer((span) => spans.push(span));

beforeAll(async () => {
  party = await startThirdParty();
  vault = await openTestVault({ traces: tracer, proxy: await localProxy() });
  client = await vault.account();
  await client.key('u');
});
afterAll(async () => {
  await vault.close();
  party.stop();
});

let tracesMade = 0;
/** The `traceparent` of a trace that no other request of these tests has. */
function newTrace(): { readonly traceId: string; readonly traceparent: string } {
  tracesMade += 1;
  const traceId = TRACE.slice(0, -4) + tracesMade.toString(16).padStart(4, '0');
  return { traceId, traceparent: `00-${traceId}-${PARENT}-01` };
}

/**
 * The spans of traces that start while `work` is done. An earlier request may still make spans then: what it leaves to
 * be done after its reply is in its trace.
 */
async function spansOf(work: () => Promise<unknown>): Promise<readonly Span[]> {
  const known = new Set(spans.map(({ traceId }) => traceId));
  const before = spans.length;
  await work();
  return spans.slice(before).filter(({ traceId }) => !known.has(traceId));
}
function isRequest({ kind }: Span): boolean {
  return kind === 'server';
}

describe('a request is one trace', () => {
  test('of its sign-in, its unlock, its jobs in threads and its scripts, each under its parent', async () => {
    const own = await vault.account();
    await own.key('k');
    const { traceId, traceparent } = newTrace();
    const headers = { 'x-request-id': 'traced-request-1', traceparent };
    const query = { user: 'k', reference: 'r-1' };
    const found = await spansOf(() =>
      own.send('POST', '/vault', {
        query,
        passphrase: PASSPHRASE,
        body: { card_number: '4111111111111111' },
        headers,
      }),
    );
    expect(new Set(found.map((span) => span.traceId))).toEqual(new Set([traceId]));
    const names = found.map(({ name }) => name);
    for (const name of ['sign_in', 'unlock', 'thread unlockKey', 'thread storeItem', 'redis write-items']) {
      expect(names).toContain(name);
    }
    const request = found.find(isRequest);
    expect(request).toMatchObject({ name: 'POST /v1/vault', parentId: PARENT, hasFailed: false });
    const unlock = found.find(({ name }) => name === 'unlock');
    expect(unlock?.parentId).toBe(request?.spanId);
    expect(found.find(({ name }) => name === 'thread unlockKey')?.parentId).toBe(unlock?.spanId);
    expect(found.every(({ startMs, endMs }) => endMs >= startMs)).toBe(true);
  });

  test('and two at one instant do not mix', async () => {
    const [one, other] = [newTrace(), newTrace()];
    const ask = ({ traceparent }: { readonly traceparent: string }) =>
      client.send('GET', '/key', { headers: { traceparent } });
    const found = await spansOf(() => Promise.all([ask(one), ask(other)]));
    const requests = found.filter(isRequest);
    expect(requests.map(({ traceId }) => traceId).toSorted()).toEqual([one.traceId, other.traceId]);
    for (const { traceId, parentId } of found.filter((span) => !isRequest(span))) {
      const own = found.filter((span) => span.traceId === traceId).map(({ spanId }) => spanId);
      expect(own).toContain(parentId ?? '');
    }
  });

  test('its attempts and the calls of its webhook are in it, or in one of their own behind it', async () => {
    const item = await newItem(vault);
    const receiver = createReceiver(party);
    party.script('/pay', 201);
    const order = { request: requestTo(party.url('/pay')), webhook: receiver.webhook };
    const before = spans.length;
    const headers = { 'x-request-id': 'traced-order-1', traceparent: newTrace().traceparent };
    const job = acceptedId(await proxyPost(item, order, {}, { headers }));
    await receiver.next();
    while (!spans.some(({ name }) => name === 'webhook attempt')) {
      await Bun.sleep(5);
    }
    const calls = spans.slice(before).filter(({ attributes }) => attributes['vault.job'] === job);
    expect(calls.map(({ name }) => name)).toEqual(['proxy attempt', 'webhook attempt']);
    expect(new Set(calls.map(({ traceId }) => traceId)).size).toBe(1);
    expect(calls.map(({ attributes }) => attributes['vault.request_id'])).toEqual([
      'traced-order-1',
      'traced-order-1',
    ]);
  });
});

test('a trace is never told to third parties', () => {
  for (const call of party.calls('/pay')) {
    expect([call.header('traceparent'), call.header('tracestate'), call.header('baggage')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  }
  expect(party.calls('/pay')).toHaveLength(1);
});

describe('a traceparent', () => {
  const tracedAs = async (traceparent: string): Promise<string | undefined> =>
    (await spansOf(() => client.send('GET', '/whoami', { headers: { traceparent } }))).find(isRequest)
      ?.traceId;

  test.each([
    ['that is no such thing', 'canary'],
    ['of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['whose id could be a card number', `00-4111111111111111${'0'.repeat(16)}-${PARENT}-01`],
    ['of another version', `01-${TRACE}-${PARENT}-01`],
    ['with more behind it', `00-${TRACE}-${PARENT}-01-4111111111111111`],
  ])('%s begins a trace of its own', async (_, header) => {
    const traceId = await tracedAs(header);
    expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(header).not.toContain(traceId ?? header);
  });

  test('of a caller who does not record makes no span', async () => {
    const found = await spansOf(() =>
      client.send('GET', '/whoami', {
        headers: { traceparent: newTrace().traceparent.replace(/01$/, '00') },
      }),
    );
    expect(found).toEqual([]);
  });
});

describe('what is exported', () => {
  test('has only names and attributes of the code, and ids, whatever was sent', async () => {
    const canary = 'canary4917484589897107';
    const headers = { 'user-agent': canary, 'idempotency-key': canary, host: `${canary}.example` };
    const passphrase = `${canary} as a passphrase`;
    const found = await spansOf(async () => {
      const query = { user: 'u', token: canary, reference: canary, rules: canary };
      await client.send('GET', '/vault', { query, passphrase, headers });
      await client.send('POST', '/vault', {
        query: { user: 'u', reference: canary },
        passphrase,
        body: { n: canary },
        headers,
      });
      await client.send('GET', '/rule', { query: { id: canary }, headers });
      await client.send('POST', `/capture/${canary}`, { headers, body: { n: canary } });
      await client.send('POST', '/proxy/post', {
        query: { user: 'u', token: canary },
        passphrase,
        body: { request: { url: `https://${canary}.example/` }, synchronous: true },
      });
    });
    expect(found.filter(isRequest)).toHaveLength(5);
    const text = encodeSpans(found, RESOURCE);
    expect(text).not.toMatch(/canary|49174845|example/);
    expect(text).not.toContain(client.name);
    for (const { name } of found) {
      expect(name).toMatch(
        /^(?:[A-Z]+ \/v1\/[\w/{}]+|redis [\w-]+|thread [A-Za-z]+|sign_in|unlock|proxy attempt)$/,
      );
    }
  });

  test('leaves out every attribute that is not on the list, and every text that is not plain', () => {
    const attributes = {
      'http.route': '/v1/vault',
      'vault.code': 'line\nbreak',
      'vault.request_id': 'x'.repeat(129),
      'user.name': 'canary',
      password: 'canary',
    };
    const span: Span = {
      ...{ traceId: TRACE, spanId: PARENT, parentId: undefined, name: 'GET /v1/vault', kind: 'server' },
      ...{ startMs: 1_800_000_000_000.5, endMs: 1_800_000_000_001, hasFailed: true, attributes },
    };
    const [scope] = JSON.parse(encodeSpans([span], RESOURCE)).resourceSpans[0].scopeSpans;
    expect(scope.spans).toEqual([
      {
        traceId: TRACE,
        spanId: PARENT,
        name: 'GET /v1/vault',
        kind: 2,
        startTimeUnixNano: '1800000000000500000',
        endTimeUnixNano: '1800000000001000000',
        attributes: [{ key: 'http.route', value: { stringValue: '/v1/vault' } }],
        status: { code: 2 },
      },
    ]);
    expect(SPAN_ATTRIBUTES.filter((name) => !/^(?:http|db|vault)\./.test(name))).toEqual([]);
  });
});

describe('a receiver', () => {
  const traceOneRequest = (out: SpanExport): void => {
    const tracing = new Tracer((one) => out.add(one));
    const span = tracing.start(null);
    if (span === undefined) {
      throw new Error('the request is not traced');
    }
    const end = { route: '/v1/key', method: 'GET', status: 200, code: undefined };
    tracing.end(span, { ...end, requestId: 'some-request' });
  };
  const spanAt = (at: number): Span => ({
    ...{ traceId: TRACE, spanId: PARENT, parentId: undefined, name: `n${at}`, kind: 'internal' },
    ...{ startMs: at, endMs: at + 1, hasFailed: false, attributes: {} },
  });
  const receive = (answer: (request: Request) => Response | Promise<Response>) =>
    Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });

  test('gets the spans, with the headers that the operator has set', async () => {
    const bodies: string[] = [];
    const seen: (string | null)[] = [];
    const server = receive(async (request) => {
      seen.push(request.headers.get('authorization'), new URL(request.url).pathname);
      bodies.push(await request.text());
      return new Response('{}');
    });
    const metrics = new Metrics();
    const url = `http://127.0.0.1:${server.port}/v1/traces`;
    const headers = { authorization: 'Bearer x' };
    const out = new SpanExport({ url, headers, resource: RESOURCE, onSpans: metrics.observeSpans });
    traceOneRequest(out);
    await out.close();
    expect(seen).toEqual(['Bearer x', '/v1/traces']);
    expect(JSON.parse(bodies[0] ?? '').resourceSpans[0].scopeSpans[0].spans[0].name).toBe('GET /v1/key');
    expect(await metrics.render()).toContain('vault_trace_spans_total{result="exported"} 1');
    metrics.close();
    await server.stop(true);
  });

  test('that hangs holds nobody up, and costs no more than the spans that are kept', async () => {
    const metrics = new Metrics();
    const hang = Promise.withResolvers<Response>();
    const arrived = Promise.withResolvers<void>();
    const server = receive(() => {
      arrived.resolve();
      return hang.promise;
    });
    const out = new SpanExport({
      url: `http://127.0.0.1:${server.port}/`,
      headers: {},
      resource: RESOURCE,
      onSpans: metrics.observeSpans,
    });
    const startedAt = performance.now();
    for (let at = 0; at < 600; at++) {
      out.add(spanAt(at));
    }
    const closing = out.close();
    await arrived.promise;
    for (let at = 0; at < 10_000; at++) {
      out.add(spanAt(at));
    }
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    // 88 behind the first batch, and as many as there is room for beside them.
    expect(await metrics.render()).toContain(
      `vault_trace_spans_total{result="dropped"} ${10_000 - (4_096 - 88)}`,
    );
    hang.resolve(new Response('{}'));
    await closing;
    metrics.close();
    await server.stop(true);
  });

  test('that is away costs the spans, and is told of', async () => {
    const server = receive(() => new Response());
    const url = `http://127.0.0.1:${server.port}/`;
    await server.stop(true);
    const metrics = new Metrics();
    const out = new SpanExport({ url, headers: {}, resource: RESOURCE, onSpans: metrics.observeSpans });
    traceOneRequest(out);
    await out.close();
    expect(await metrics.render()).toContain('vault_trace_spans_total{result="dropped"} 1');
    metrics.close();
  });
});

test('a vault without traces makes none and still counts', async () => {
  const plain = await openTestVault({ workers: 1, alone: true });
  const { traceparent } = newTrace();
  const found = await spansOf(async () =>
    plain.handle(new Request('http://localhost/v1/whoami', { headers: { traceparent } })),
  );
  expect(found).toEqual([]);
  expect(plain.parts.tracer).toBeUndefined();
  expect((await scrape(plain.handle)).value('vault_http_errors_total', { code: 'unauthenticated' })).toBe(1);
  await plain.close();
});
