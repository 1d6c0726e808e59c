import { type Config, ensureMasterKey } from '../config/config.ts';
import type { UnsafeRedis } from '../store/redis/safety.ts';
import { assemble } from './assemble.ts';
import { type SystemOptions, settingsOf } from './options.ts';
import { checkSafety, openTarget } from './redis-target.ts';

/** An open vault with its configuration. Commands open one too: servers on the same data go on. */
export type Session = Awaited<ReturnType<typeof openConfigured>>;

/** Opens the vault that the configuration describes, with a Redis of its own where it asks for one. */
export async function openConfigured(
  config: Config,
  { observer, recordEvent = () => undefined }: Pick<SystemOptions, 'observer' | 'recordEvent'> = {},
) {
  const ring = ensureMasterKey(config).expose();
  const { target, stop } = await openTarget(config, recordEvent);
  /** What this Redis may lose, and is allowed to: by name in production, always in staging. */
  let unsafe: readonly UnsafeRedis[] = [];
  try {
    const vault = await assemble({
      ...config,
      ...{ redis: target, ring, settings: settingsOf(config), recordEvent },
      ...(observer === undefined ? {} : { observer }),
      checkRedis: async (redis) => {
        unsafe = await checkSafety(redis, config, recordEvent);
      },
    });
    return {
      ...{ vault, config, target, ring, unsafe },
      async close() {
        await vault.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
