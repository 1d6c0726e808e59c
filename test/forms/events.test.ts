import { describe, expect, test } from 'bun:test';
import { checkEvent, createWait, EVENTS } from '../../forms/frame/events.ts';

describe('the name of an event', () => {
  test.each([...EVENTS])('%s is one', (name) => {
    expect(() => checkEvent(name)).not.toThrow();
  });

  test.each(['', 'Ready', 'vault-ready', 'sucess', 'constructor'])('%j is none', (name) => {
    expect(() => checkEvent(name)).toThrow(
      new TypeError(`There is no event "${name}". There are: ready, height, success, error.`),
    );
  });
});

describe('the wait for a form', () => {
  /** Timers that go off when told. */
  const createTimers = () => {
    const set = new Map<number, readonly [() => void, number]>();
    return {
      delays: (): number[] => [...set.values()].map(([, milliseconds]) => milliseconds),
      goOff: (): void => {
        for (const [timer, [act]] of [...set]) {
          set.delete(timer);
          act();
        }
      },
      setTimeout: (act: () => void, milliseconds: number): number => {
        const timer = set.size + 1;
        set.set(timer, [act, milliseconds]);
        return timer;
      },
      clearTimeout: (timer: number | undefined): void => {
        set.delete(timer ?? 0);
      },
    };
  };

  const start = () => {
    const timers = createTimers();
    const heard: string[] = [];
    return { timers, heard, wait: createWait(timers, () => heard.push('late')) };
  };

  test('is ten seconds, and tells once', () => {
    const { timers, heard, wait } = start();
    expect(timers.delays()).toEqual([]);
    wait.start();
    expect(timers.delays()).toEqual([10_000]);
    timers.goOff();
    timers.goOff();
    expect(heard).toEqual(['late']);
  });

  test('tells nothing once it has ended', () => {
    const { timers, heard, wait } = start();
    wait.start();
    wait.end();
    wait.end();
    timers.goOff();
    expect(heard).toEqual([]);
  });

  test('that begins anew is one wait', () => {
    const { timers, heard, wait } = start();
    wait.start();
    wait.start();
    expect(timers.delays()).toEqual([10_000]);
    timers.goOff();
    expect(heard).toEqual(['late']);
  });
});
