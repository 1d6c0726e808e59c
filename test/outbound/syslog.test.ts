/** Messages on their way to a collector: as frames, and taken for delivered only when it has read them all. */
import { afterEach, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { framesOf, sendSyslog } from '../../server/outbound/syslog.ts';
import { newAuthority } from './certificates.ts';
import { type Collector, startCollector, textsOf } from './collector.ts';
import { sendSyslogAlone } from './syslog-alone.ts';

const MESSAGES = [
  { timeMs: Date.parse('2026-01-31T12:00:00.123Z'), text: '{"n":1}' },
  { timeMs: undefined, text: '{"n":"a\\u00e9"}' },
];
const NAMED = [{ type: 'dns' as const, value: 'localhost' }];

let collector: Collector;

afterEach(() => collector.stop());

function send(port = collector.port, tls = false, signal = new AbortController().signal): Promise<void> {
  return sendSyslog({ host: 'localhost', port, tls }, framesOf(MESSAGES, 'vault-1'), signal);
}

describe('over TCP', () => {
  test('each message is a counted frame with facility, time and host', async () => {
    collector = await startCollector();
    await send();
    expect(collector.received()).toBe(
      [
        '66 <86>1 2026-01-31T12:00:00.123Z vault-1 cardvault - audit - {"n":1}',
        '51 <86>1 - vault-1 cardvault - audit - {"n":"a\\u00e9"}',
      ].join(''),
    );
    expect(textsOf(collector.received())).toEqual(MESSAGES.map(({ text }) => text));
  });

  test('a collector that resets, or closes before it has read all, has not taken them', async () => {
    collector = await startCollector({ onData: (socket) => socket.resetAndDestroy() });
    expect(send()).rejects.toThrow();
    await collector.stop();
    collector = await startCollector({ onConnection: (socket) => socket.end() });
    const large = Array.from({ length: 200_000 }, () => ({ timeMs: 0, text: 'x'.repeat(100) }));
    const target = { host: 'localhost', port: collector.port, tls: false };
    const sent = sendSyslog(target, framesOf(large, 'vault-1'), new AbortController().signal);
    await expect(sent).rejects.toThrow();
  });

  test('one that goes on sending, and never closes, is left in the end', async () => {
    let timer: ReturnType<typeof setInterval> | undefined;
    collector = await startCollector({
      onConnection: (socket) => {
        timer = setInterval(() => socket.write('.'), 5);
      },
      onEnd: () => undefined,
    });
    const target = { host: 'localhost', port: collector.port, tls: false };
    const sent = sendSyslog(target, framesOf(MESSAGES, 'vault-1'), new AbortController().signal, 200);
    const error = await sent.catch((reason: unknown) => reason);
    clearInterval(timer);
    expect(String(error)).toContain('no progress');
  });

  test('one that is not there, and a stop while one does not answer', async () => {
    collector = await startCollector({ onEnd: () => undefined });
    const stopping = new AbortController();
    const sent = send(collector.port, false, stopping.signal);
    await collector.whenReceived();
    stopping.abort();
    await expect(sent).rejects.toThrow('stopped');
    const { port } = collector;
    await collector.stop();
    await expect(send(port)).rejects.toThrow();
  });
});

describe('over TLS', () => {
  test('an authority that is not known gets nothing, whatever the environment says', async () => {
    collector = await startCollector({ tls: await (await newAuthority()).issue({ names: NAMED }) });
    await expect(send(collector.port, true)).rejects.toThrow();
    const { error } = await sendSyslogAlone(collector.port, { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
    expect(error).not.toBe('');
    expect(collector.received()).toBe('');
  });

  test('one that is known is believed for its own names alone', async () => {
    const authority = await newAuthority();
    const path = join(tmpdir(), `cv-syslog-${process.pid}.pem`);
    writeFileSync(path, authority.pem);
    for (const { names, isTaken } of [
      { names: NAMED, isTaken: true },
      { names: [{ type: 'dns' as const, value: 'elsewhere.example' }], isTaken: false },
    ]) {
      collector = await startCollector({ tls: await authority.issue({ names }) });
      const { error } = await sendSyslogAlone(collector.port, { NODE_EXTRA_CA_CERTS: path });
      expect([error === '', collector.received()]).toEqual([isTaken, isTaken ? '5 hello' : '']);
      await collector.stop();
    }
  });
});
