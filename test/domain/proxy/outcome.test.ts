import { describe, expect, test } from 'bun:test';
import {
  type AttemptResult,
  type AttemptState,
  createRetryPause,
  judgeAttempt,
} from '../../../server/call/outcome.ts';

function state(changes: Partial<AttemptState> = {}): AttemptState {
  return {
    made: 1,
    attempts: 8,
    repeatable: false,
    now: Date.UTC(2026, 10, 21),
    pause: createRetryPause(() => 0),
    ...changes,
  };
}
function replied(status: number, retryAfter?: string): AttemptResult {
  return { ok: true, status, retryAfter };
}
function broken(code: 'target_unreachable' | 'target_timeout', sent: boolean): AttemptResult {
  return {
    ok: false,
    code,
    sent,
  };
}

describe('a reply', () => {
  test.each([200, 201, 204, 301, 304, 400, 401, 404, 409, 422, 428, 499])('%d is the answer', (status) => {
    expect(judgeAttempt(replied(status), state())).toEqual({ kind: 'reply' });
  });

  test.each([429, 500, 502, 503, 504, 599])(
    '%d asks for another attempt, until there is none left',
    (status) => {
      expect(judgeAttempt(replied(status), state())).toEqual({ kind: 'again', pauseMs: 500 });
      expect(judgeAttempt(replied(status), state({ made: 7 }))).toMatchObject({ kind: 'again' });
      expect(judgeAttempt(replied(status), state({ made: 8 }))).toEqual({ kind: 'reply' });
      expect(judgeAttempt(replied(status), state({ attempts: 1 }))).toEqual({ kind: 'reply' });
    },
  );

  test('is waited behind for as long as it says, at most a minute', () => {
    const pauses = ['7', 'Sat, 21 Nov 2026 00:00:09 GMT', '900', 'soon', '0'].map((text) =>
      judgeAttempt(replied(503, text), state()),
    );
    expect(pauses).toEqual(
      [7_000, 9_000, 60_000, 500, 500].map((pauseMs) => ({ kind: 'again' as const, pauseMs })),
    );
  });
});

describe('no reply', () => {
  test('when nothing was sent, another attempt follows, whatever the request', () => {
    for (const code of ['target_unreachable', 'target_timeout'] as const) {
      expect(judgeAttempt(broken(code, false), state({ made: 2 }))).toEqual({
        kind: 'again',
        pauseMs: 1_000,
      });
      expect(judgeAttempt(broken(code, false), state({ made: 8 }))).toEqual({
        kind: 'failure',
        code,
        unknown: false,
      });
    }
  });

  test('that is not who it should be is not asked again', () => {
    const attempt = { ...broken('target_unreachable', false), reason: 'certificate' } as const;
    expect(judgeAttempt(attempt, state())).toEqual({
      kind: 'failure',
      code: 'target_unreachable',
      unknown: false,
    });
  });

  test('when something was sent, only what may be repeated is sent again', () => {
    for (const code of ['target_unreachable', 'target_timeout'] as const) {
      const sent = broken(code, true);
      expect(judgeAttempt(sent, state())).toEqual({ kind: 'failure', code, unknown: true });
      expect(judgeAttempt(sent, state({ repeatable: true }))).toEqual({ kind: 'again', pauseMs: 500 });
      const last = judgeAttempt(sent, state({ repeatable: true, made: 8 }));
      expect(last).toEqual({ kind: 'failure', code, unknown: true });
    }
  });

  test.each([
    ['destination_refused', false],
    ['reply_too_large', true],
  ] as const)('%s is final', (code, sent) => {
    const verdict = judgeAttempt({ ok: false, code, sent }, state({ repeatable: true }));
    expect(verdict).toEqual({ kind: 'failure', code, unknown: false });
  });
});
