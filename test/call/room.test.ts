import { describe, expect, test } from 'bun:test';
import { CallRoom } from '../../server/call/room.ts';
import { Limiter } from '../../server/limits/limiter.ts';

const OVERLOADED = expect.objectContaining({ code: 'overloaded' });
const MIB = 1_048_576;

function createRooms() {
  const limiter = new Limiter({ threads: 1, unlocks: 1, guesses: 1 }, () => 0);
  return (aid: string, bytes = 0) => new CallRoom(limiter, aid, bytes);
}

describe('calls to third parties', () => {
  test('are bounded, for each account and for all', () => {
    const enter = createRooms();
    const enterMany = (aid: string, times: number) => Array.from({ length: times }, () => enter(aid));
    const [first] = enterMany('greedy', 256);
    expect(() => enter('greedy')).toThrow(OVERLOADED);
    for (const aid of ['b', 'c', 'd']) {
      enterMany(aid, 255);
    }
    enterMany('e', 3);
    expect(() => enter('late')).toThrow(OVERLOADED);
    first?.release();
    // Twice is once.
    first?.release();
    const late = enter('late');
    expect(() => enter('greedy')).toThrow(OVERLOADED);
    late.release();
    enter('greedy');
    expect(() => enter('late')).toThrow(OVERLOADED);
  });

  test('hold 32 MB of requests an account, twice their length each, and 128 MB in all', () => {
    const enter = createRooms();
    const enterAll = (aid: string): CallRoom[] => {
      const entered = [];
      for (;;) {
        try {
          entered.push(enter(aid, MIB));
        } catch (error) {
          expect(error).toEqual(OVERLOADED);
          return entered;
        }
      }
    };
    const all = ['a', 'b', 'c', 'd', 'e'].map((aid) => enterAll(aid));
    expect(all.map(({ length }) => length)).toEqual([15, 15, 15, 15, 0]);
    all.flat().forEach(({ release }) => void release());
    expect(enterAll('a')).toHaveLength(15);
  });

  test('have eight long replies an account at a time, and 32 in all; the others wait in turn', async () => {
    const enter = createRooms();
    const told: string[] = [];
    const ask = (aid: string) => {
      const call = enter(aid);
      const turn = call.forReply();
      void turn?.then(() => told.push(aid));
      return { call, waits: turn !== undefined };
    };
    const ofA = Array.from({ length: 10 }, () => ask('a'));
    expect(ofA.map(({ waits }) => waits)).toEqual([...Array<boolean>(8).fill(false), true, true]);
    // Who has room asks for no more; who waits has one place in the queue.
    expect(ofA[0]?.call.forReply()).toBeUndefined();
    void ofA[8]?.call.forReply();
    for (const aid of ['b', 'c', 'd']) {
      expect(Array.from({ length: 8 }, () => ask(aid)).some(({ waits }) => waits)).toBeFalse();
    }
    expect(ask('e').waits).toBeTrue();
    ofA[0]?.call.release();
    await Bun.sleep(0);
    expect(told).toEqual(['a']);
    // One that gives up passes its turn on.
    ofA[9]?.call.release();
    ofA[1]?.call.release();
    ofA[2]?.call.release();
    await Bun.sleep(0);
    expect(told).toEqual(['a', 'e', 'a']);
  });
});
