import { version } from '../../package.json';
import type { Config } from '../config/config.ts';
import { StartError } from '../core/errors.ts';
import { createApp } from '../http/app.ts';
import { type Listener, openListener } from '../http/listen/listen.ts';
import { probePort } from '../http/listen/port.ts';
import { logFault } from '../http/plugins/http-context.ts';
import type { HttpParts } from '../http/plugins/http-parts.ts';
import { createServerStore } from '../store/server.ts';
import type { System } from './assemble.ts';
import { createSiblings, type Siblings } from './siblings.ts';

/** Idle connections are closed after this time. */
const IDLE_SECONDS = 120;

/** A listener that the other servers of the vault know of. */
export interface AnnouncedListener extends Pick<Listener, 'startDraining' | 'close'> {
  /** Whether a server of the same vault already listened on the port. */
  readonly isShared: boolean;
}

/**
 * Translates a system error about the address into a `StartError` for the operator; returns any other error
 * unchanged.
 */
function explained(error: unknown, { host, port }: Config): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    return new StartError(`${host}:${port} is already in use; set VAULT_PORT to a free port.`);
  }
  return code === 'EADDRNOTAVAIL' || code === 'EACCES'
    ? new StartError(`${host}:${port} cannot be listened on; see VAULT_HOST and VAULT_PORT.`)
    : error;
}

/** Opens the listener, with SO_REUSEPORT only if the port belongs to a server of this vault. */
async function openShared(
  config: Config,
  parts: HttpParts,
  siblings: Siblings,
): Promise<{ readonly listener: Listener; readonly isShared: boolean }> {
  const { host, port, tls } = config;
  try {
    const state = await probePort(host, port, siblings.havePort);
    if (state === 'taken') {
      throw new StartError(`${host}:${port} is already in use; set VAULT_PORT to a free port.`);
    }
    const listener = openListener(createApp(parts), {
      hostname: host,
      port,
      idleTimeoutSeconds: IDLE_SECONDS,
      onError: (error, requestId) => logFault(error, { requestId, route: '(none)' }, parts),
      ...(tls === undefined ? {} : { tls: { cert: tls.cert, key: tls.key.expose() } }),
    });
    return { listener, isShared: state === 'shared' };
  } catch (error) {
    throw explained(error, config);
  }
}

/**
 * Listens on the configured address, on a port of its own or on one that servers of the same vault share, and
 * announces it. Rejects with a `StartError` when another program has the port, or the address cannot be used.
 */
export async function openConfiguredListener(
  config: Config,
  parts: HttpParts,
  vault: Pick<System, 'redis' | 'randomId' | 'roots'>,
): Promise<AnnouncedListener> {
  const own = { id: vault.randomId(), address: config.host, port: config.port, version };
  const readRoots = async (): Promise<string> => (await vault.roots.refresh()).state;
  const siblings = createSiblings(createServerStore(vault.redis), own, readRoots);
  const { listener, isShared } = await openShared(config, parts, siblings);
  await siblings.announce();
  return {
    isShared,
    startDraining: listener.startDraining,
    close: async () => {
      await listener.close();
      await siblings.withdraw();
    },
  };
}
