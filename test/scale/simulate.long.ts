import { describe, expect, test } from 'bun:test';
import { chanceOf } from '../durability/chance.ts';
import { Events } from './events.ts';
import { type Deployment, type Kind, simulate } from './simulate.ts';

function randomOf(seed: number): () => number {
  let drawn = 0;
  return () => {
    drawn += 1;
    return chanceOf(seed, `arrival ${drawn}`);
  };
}
const ONE: Deployment = { processes: 1, workersEach: 1, shards: 1, syncSeconds: 0 };

test('events come in the order of their times', () => {
  const events = new Events();
  const seen: number[] = [];
  const random = randomOf(1);
  const times = Array.from({ length: 500 }, random);
  for (const time of times) {
    events.add(time, () => void seen.push(time));
  }
  for (let event = events.next(); event !== undefined; event = events.next()) {
    event.run();
  }
  expect(seen).toEqual(times.toSorted((a, b) => a - b));
});

describe('what theory knows', () => {
  test.each([0.3, 0.6, 0.8])('one thread with equal work, busy at %p (M/D/1)', (busy) => {
    const work = 0.001;
    const kinds: Kind[] = [{ share: 1, steps: [{ at: 'main', seconds: work }] }];
    const outcome = simulate(ONE, kinds, busy / work, 400, randomOf(2));
    // The median of M/D/1 has no simple form; its mean wait bounds it from above, its work from below.
    const mean = work + (busy * work) / (2 * (1 - busy));
    expect(outcome.busy.main).toBeCloseTo(busy, 1);
    expect(outcome.p50Ms).toBeGreaterThanOrEqual(work * 1_000 - 1e-6);
    expect(outcome.p50Ms).toBeLessThanOrEqual(mean * 1_000 * 1.02);
    expect(outcome.doneShare).toBeGreaterThan(0.99);
  });

  test('more than a thread can do is not done', () => {
    const kinds: Kind[] = [{ share: 1, steps: [{ at: 'main', seconds: 0.001 }] }];
    const { busy, doneShare } = simulate(ONE, kinds, 2_000, 20, randomOf(3));
    expect(busy.main).toBeCloseTo(1, 1);
    expect(doneShare).toBeCloseTo(0.5, 1);
  });

  test('writes that come together share a sync of the disk', () => {
    const kinds: Kind[] = [{ share: 1, steps: [{ at: 'redis', seconds: 0.000_01, isWrite: true }] }];
    const place = { ...ONE, syncSeconds: 0.001 };
    // Alone, each would need a millisecond: a thousand a second at most.
    const { doneShare, p99Ms } = simulate(place, kinds, 10_000, 10, randomOf(4));
    expect(doneShare).toBeGreaterThan(0.99);
    expect(p99Ms).toBeLessThan(3);
  });

  test('twice of everything does twice as much', () => {
    const kinds: Kind[] = [
      {
        share: 0.5,
        steps: [
          { at: 'main', seconds: 0.000_2 },
          { at: 'redis', seconds: 0.000_1, isWrite: true },
        ],
      },
      {
        share: 0.5,
        steps: [
          { at: 'main', seconds: 0.000_1 },
          { at: 'worker', seconds: 0.000_3 },
        ],
      },
    ];
    const small = simulate({ ...ONE, syncSeconds: 0.000_5 }, kinds, 3_000, 40, randomOf(5));
    const large = simulate(
      { processes: 2, workersEach: 1, shards: 2, syncSeconds: 0.000_5 },
      kinds,
      6_000,
      40,
      randomOf(5),
    );
    expect(large.busy.main).toBeCloseTo(small.busy.main, 1);
    expect(large.busy.worker).toBeCloseTo(small.busy.worker, 1);
  });
});
