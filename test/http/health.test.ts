import { describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { Health } from '../../server/http/health.ts';

describe('health', () => {
  test('is ready when every check is well, and names the one that is not', async () => {
    let broken = false;
    let now = 0;
    const health = new Health(
      {
        redis: async () => {
          if (broken) {
            throw new Error('away');
          }
        },
        workers: async () => undefined,
      },
      () => now,
    );
    expect(await health.ready()).toEqual({ ready: true, checks: { redis: 'ok', workers: 'ok' } });
    broken = true;
    now += 2_000;
    expect(await health.ready()).toEqual({ ready: false, checks: { redis: 'failing', workers: 'ok' } });
  });

  test('names the reason why Redis refuses writes, while its check fails', async () => {
    let fails = true;
    let now = 0;
    const cause = new Error("OOM command not allowed when used memory > 'maxmemory'.");
    const refused = new VaultError('store_unavailable', { cause });
    const redis = (): Promise<void> => (fails ? Promise.reject(refused) : Promise.resolve());
    const health = new Health({ redis }, () => now);
    expect(await health.ready()).toEqual({ ready: false, checks: { redis: 'failing', redis_reason: 'OOM' } });
    fails = false;
    now += 2_000;
    expect(await health.ready()).toEqual({ ready: true, checks: { redis: 'ok' } });
  });

  test('asks no more than once a second, however often it is asked', async () => {
    let asked = 0;
    let now = 0;
    const redis = async (): Promise<void> => {
      asked += 1;
    };
    const health = new Health({ redis }, () => now);
    await Promise.all(Array.from({ length: 50 }, () => health.ready()));
    await health.ready();
    expect(asked).toBe(1);
    now += 1_000;
    await health.ready();
    expect(asked).toBe(2);
  });

  test('is not ready before the start is complete, nor while the server drains', async () => {
    const health = new Health({ redis: async () => undefined }, () => 0);
    health.hold('starting');
    expect(await health.ready()).toEqual({ ready: false, checks: { starting: 'failing' } });
    health.release();
    expect((await health.ready()).ready).toBe(true);
    health.hold('draining');
    expect(await health.ready()).toEqual({ ready: false, checks: { draining: 'failing' } });
  });
});
