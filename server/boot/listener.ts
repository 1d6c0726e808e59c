import { version } from '../../package.json';
import type { Config } from '../config/config.ts';
import { StartError } from '../core/errors.ts';
import { createApp } from '../http/app.ts';
import { type Listener, openListener } from '../http/listen/listener.ts';
import { findFreePort, probePort } from '../http/listen/port.ts';
import { logFault } from '../http/plugins/http-context.ts';
import type { HttpParts } from '../http/plugins/http-parts.ts';
import { createServerStore } from '../store/server.ts';
import type { System } from './assemble.ts';
import { createSiblings, type Siblings } from './siblings.ts';

/** Seconds without traffic after which a connection ends. */
const IDLE_SECONDS = 120;

/** A listener that is announced to the other servers of the vault. */
export interface AnnouncedListener extends Pick<Listener, 'startDraining' | 'close'> {
  /** Whether a server of the same vault was on the port before. */
  readonly isShared: boolean;
}

/** Pages and documents name the port before anybody listens: a free one is picked first. */
export function withFreePort(config: Config): Config {
  return config.port === 0 ? Object.freeze({ ...config, port: findFreePort(config.host) }) : config;
}

/** The system's error about an address, as a line for the operator; anything else as it is. */
function explained(error: unknown, { host, port }: Config): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    return new StartError(`${host}:${port} is already in use; set VAULT_PORT to a free port.`);
  }
  return code === 'EADDRNOTAVAIL' || code === 'EACCES'
    ? new StartError(`${host}:${port} cannot be listened on; see VAULT_HOST and VAULT_PORT.`)
    : error;
}

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
 * Listens where the configuration says: on a port of its own, or on one that servers of the same vault have already.
 * Rejects with a `StartError` when it cannot be had.
 */
export async function openConfiguredListener(
  config: Config,
  parts: HttpParts,
  vault: Pick<System, 'redis' | 'randomId'>,
): Promise<AnnouncedListener> {
  const siblings = createSiblings(createServerStore(vault.redis), {
    id: vault.randomId(),
    address: config.host,
    port: config.port,
    version,
  });
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
