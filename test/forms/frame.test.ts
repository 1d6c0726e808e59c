import { describe, expect, test } from 'bun:test';
import { type FrameWindow, hear, openFrame } from '../../forms/frame/frame.ts';
import { isFrameMessage, isParentMessage } from '../../forms/frame/messages.ts';

type Listener = Parameters<FrameWindow['addEventListener']>[1];

/** A window inside another, which keeps what it sends; time passes only when told. */
function framed() {
  const sent: [unknown, string][] = [];
  const timers: (() => void)[] = [];
  const listeners: Listener[] = [];
  const parent = { postMessage: (message: unknown, origin: string) => sent.push([message, origin]) };
  const own: FrameWindow = {
    parent,
    postMessage: () => undefined,
    addEventListener: (_, listener) => listeners.push(listener),
    setTimeout: (act) => timers.push(act),
  };
  const say = (data: unknown, origin = 'https://shop.example', source: unknown = parent): void => {
    for (const listener of listeners) {
      listener({ source, origin, data });
    }
  };
  const pass = (): void => {
    for (const act of timers.splice(0)) {
      act();
    }
  };
  return { own, parent, sent, say, pass };
}

const SUCCESS = { type: 'vault.success', token: 't', reference: 'r', user: 'u' } as const;

describe('the guards', () => {
  // What only looks like the message of a frame is in the tests of the page around it.
  test.each([
    [{ type: 'vault.hello', extra: 1 }],
    [{ type: 'vault.submit', [Symbol('s')]: 1 }],
    [Object.create({ type: 'vault.hello' })],
    [JSON.parse('{"type":"vault.hello","__proto__":{}}')],
  ])('%p is from nobody', (message) => {
    expect([isFrameMessage(message), isParentMessage(message)]).toEqual([false, false]);
  });
});

describe('hearing', () => {
  const hello = { type: 'vault.hello' };
  const { own, parent } = framed();

  test('the parent is heard, strangers are not', () => {
    const origin = 'https://shop.example';
    expect(hear({ source: parent, origin, data: hello }, own, [])).toEqual({ type: 'vault.hello' });
    expect(hear({ source: own, origin, data: hello }, own, [])).toBeUndefined();
    expect(hear({ source: null, origin, data: hello }, own, [])).toBeUndefined();
  });

  test('from an origin that may embed the form alone', () => {
    const allowed = ['https://shop.example'];
    expect(hear({ source: parent, origin: 'https://shop.example', data: hello }, own, allowed)).toBeDefined();
    for (const origin of ['https://shop.example.evil.example', 'http://shop.example', 'null', '']) {
      expect(hear({ source: parent, origin, data: hello }, own, allowed)).toBeUndefined();
    }
  });

  test('a page that is not in another hears nobody', () => {
    const alone = {
      postMessage: () => undefined,
      addEventListener: () => undefined,
      setTimeout: () => undefined,
    };
    const top: FrameWindow = Object.assign(alone, { parent: alone });
    expect(hear({ source: top, origin: 'https://shop.example', data: hello }, top, [])).toBeUndefined();
  });
});

describe('the origin of the page around', () => {
  const originOf = (ancestors: readonly string[] | undefined) => {
    const made = framed();
    const frame = openFrame({ own: made.own, ancestors, allowed: [] }, () => undefined);
    return { ...made, origin: frame.origin() };
  };

  test('is the one that the browser tells', async () => {
    const { say, origin } = originOf(['https://shop.example', 'https://outer.example']);
    say({ type: 'vault.hello' }, 'https://other.example');
    expect(await origin).toBe('https://shop.example');
  });

  test('is that of its first message where the browser tells none', async () => {
    for (const ancestors of [undefined, ['null']]) {
      const { say, origin } = originOf(ancestors);
      say({ type: 'vault.hello' }, 'https://stranger.example', {});
      say({ type: 'vault.hello' }, 'https://shop.example');
      say({ type: 'vault.submit' }, 'https://other.example');
      expect(await origin).toBe('https://shop.example');
    }
  });

  test('is unknown after a while without either, or none', async () => {
    const silent = originOf(undefined);
    silent.pass();
    expect(await silent.origin).toBeUndefined();
    const opaque = originOf(['null']);
    opaque.pass();
    expect(await opaque.origin).toBe('null');
  });
});

describe('a change of a field', () => {
  const change = { type: 'vault.change', state: 'complete', brand: 'visa', error: '', message: '' };

  test('may name networks, as a text', () => {
    expect(isFrameMessage(change)).toBe(true);
    expect(isFrameMessage({ ...change, networks: 'visa cartes-bancaires' })).toBe(true);
    expect(isFrameMessage({ ...change, networks: ['visa'] })).toBe(false);
    expect(isFrameMessage({ type: 'vault.change', networks: 'visa' })).toBe(false);
  });
});

describe('sending', () => {
  test('to the origin around, as the browser knows it', () => {
    const { own, sent } = framed();
    openFrame({ own, ancestors: ['https://shop.example'], allowed: [] }, () => undefined).send(SUCCESS);
    expect(sent).toEqual([[SUCCESS, 'https://shop.example']]);
  });

  test('success waits for a hello, readiness does not', () => {
    const { own, sent, say, pass } = framed();
    const frame = openFrame({ own, ancestors: undefined, allowed: [] }, () => undefined);
    frame.send({ type: 'vault.ready' });
    frame.send(SUCCESS);
    expect(sent).toEqual([[{ type: 'vault.ready' }, '*']]);
    say({ type: 'vault.hello' });
    expect(sent.slice(1)).toEqual([[SUCCESS, 'https://shop.example']]);
    pass();
    expect(sent).toHaveLength(2);
  });

  test('without a hello it goes out after all, to those that may embed the form', () => {
    const { own, sent, pass } = framed();
    openFrame(
      { own, ancestors: ['null'], allowed: ['https://a.example', 'https://b.example'] },
      () => undefined,
    ).send(SUCCESS);
    expect(sent).toEqual([]);
    pass();
    expect(sent).toEqual([
      [SUCCESS, 'https://a.example'],
      [SUCCESS, 'https://b.example'],
    ]);
  });

  test('acts on what the parent asks, and on nothing else', () => {
    const { own, say } = framed();
    const acted: string[] = [];
    openFrame({ own, ancestors: undefined, allowed: ['https://shop.example'] }, ({ type }) =>
      acted.push(type),
    );
    say({ type: 'vault.submit' });
    say({ type: 'vault.reset' }, 'https://evil.example');
    say({ type: 'vault.reset' }, 'https://shop.example', {});
    say({ type: 'vault.reset', x: 1 });
    expect(acted).toEqual(['vault.submit']);
  });
});
