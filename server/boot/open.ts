import type { Config } from '../config/config.ts';
import { ensureMasterKey, existingMasterKey } from '../config/master-key.ts';
import { lockMemory } from '../core/process-memory.ts';
import type { UnsafeRedis } from '../core/settings.ts';
import { assemble } from './assemble.ts';
import { type SystemOptions, settingsOf } from './options.ts';
import { checkSafety, openTarget, requireFiles } from './redis/target.ts';

/** An open vault with its configuration. */
export type Session = Awaited<ReturnType<typeof openConfigured>>;

/**
 * Opens the vault that the configuration describes, and starts the embedded Redis if the configuration has no other.
 * A command may open a vault while servers use it, and makes none: with `isExisting` a missing one is a `StartError`, and nothing is
 * written. Rejects with a `ConfigError` or `StartError`; nothing stays open then.
 */
export async function openConfigured(
  config: Config,
  {
    observer,
    recordEvent = () => undefined,
    isExisting = false,
  }: Pick<SystemOptions, 'observer' | 'recordEvent' | 'isExisting'> = {},
) {
  const ring = (await (isExisting ? existingMasterKey : ensureMasterKey)(config)).expose();
  if (!lockMemory([...ring.keys.values()])) {
    recordEvent('memory_not_locked');
  }
  if (isExisting) {
    requireFiles(config);
  }
  const { target, stop } = await openTarget(config, recordEvent);
  /** Unsafe Redis settings that are tolerated: those allowed by name in production, all of them in staging. */
  let unsafe: readonly UnsafeRedis[] = [];
  try {
    const vault = await assemble({
      ...config,
      ...{ redis: target, ring, settings: settingsOf(config), recordEvent, isExisting },
      ...(observer === undefined ? {} : { observer }),
      checkRedis: async (redis) => {
        unsafe = await checkSafety(redis, config, recordEvent);
      },
    });
    return {
      ...{ vault, config, target, ring, unsafe },
      /** Closes the vault, then the embedded Redis if this process started it. */
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
