import { version } from '../../package.json';
import type { Config } from '../config/config.ts';
import { createTlsLook, type TlsPair } from '../config/tls.ts';
import { StartError } from '../core/errors.ts';
import { createApp } from '../http/app.ts';
import { type Door, openDoor } from '../http/listen/door.ts';
import { findFreePort, judgePort } from '../http/listen/port.ts';
import type { Deps } from '../http/plugins/app-parts.ts';
import { createServerStore } from '../store/server.ts';
import type { System } from './assemble.ts';
import { createSiblings, type Siblings } from './siblings.ts';

const IDLE_SECONDS = 120;
const TLS_LOOK_MS = 10_000;

type Note = (event: string, fields?: Readonly<Record<string, unknown>>) => void;

/** A door that other servers of the vault know of. */
export interface KnownDoor extends Pick<Door, 'leave' | 'close'> {
  /** Whether a server of the same vault was on the port before. */
  readonly isShared: boolean;
}

/** Pages and documents name the port before anybody listens: a free one is picked first. */
export const withFreePort = (config: Config): Config =>
  config.port === 0 ? Object.freeze({ ...config, port: findFreePort(config.host) }) : config;

const tlsOf = ({ cert, key }: TlsPair): Bun.TLSOptions => ({ cert, key: key.expose() });

/** What the system says of an address, as a line for the operator; anything else is thrown as it is. */
const explain = (error: unknown, { host, port }: Config): never => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    throw new StartError(`${host}:${port} is already in use; set VAULT_PORT to a free port.`);
  }
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES') {
    throw new StartError(`${host}:${port} cannot be listened on; see VAULT_HOST and VAULT_PORT.`);
  }
  throw error;
};

/** Takes up a renewed certificate while the server runs. What cannot be used is noted once, and left. */
const watchTls = (tls: Config['tls'], door: Door, note: Note): void => {
  if (tls === undefined) {
    return;
  }
  const look = createTlsLook(tls.files, tls);
  let told: string | undefined;
  setInterval(() => {
    const found = look();
    if (found.kind === 'renewed') {
      door.renew(tlsOf(found.pair));
      note('certificate_renewed');
    }
    const reason = found.kind === 'bad' ? found.reason : undefined;
    if (reason !== undefined && reason !== told) {
      note('certificate_not_renewed', { reason });
    }
    told = reason;
  }, TLS_LOOK_MS).unref();
};

const openShared = async (
  config: Config,
  deps: Deps,
  siblings: Siblings,
): Promise<{ readonly door: Door; readonly isShared: boolean }> => {
  const { host, port, tls } = config;
  try {
    const state = await judgePort(host, port, siblings.havePort);
    if (state === 'taken') {
      throw new StartError(`${host}:${port} is already in use; set VAULT_PORT to a free port.`);
    }
    const door = openDoor(createApp(deps), {
      hostname: host,
      port,
      idleTimeoutSeconds: IDLE_SECONDS,
      ...(tls === undefined ? {} : { tls: tlsOf(tls) }),
    });
    return { door, isShared: state === 'shared' };
  } catch (error) {
    return explain(error, config);
  }
};

/**
 * Listens where the configuration says: on a port of its own, or on one that servers of the same vault have already.
 * Rejects with a `StartError` when it cannot be had.
 */
export async function openConfiguredDoor(
  config: Config,
  deps: Deps,
  { vault, note }: { readonly vault: Pick<System, 'redis' | 'randomId'>; readonly note: Note },
): Promise<KnownDoor> {
  const siblings = createSiblings(createServerStore(vault.redis), {
    id: vault.randomId(),
    address: config.host,
    port: config.port,
    version,
  });
  const { door, isShared } = await openShared(config, deps, siblings);
  await siblings.join();
  watchTls(config.tls, door, note);
  return {
    isShared,
    leave: door.leave,
    close: async () => {
      await door.close();
      await siblings.leave();
    },
  };
}
