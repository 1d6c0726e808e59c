import { version } from '../../package.json';
import type { Config } from '../config/config.ts';
import { endOfCertificate } from '../config/files.ts';
import type { SettingName } from '../config/settings.ts';
import { StartError } from '../core/errors.ts';
import { logFault } from '../http/context.ts';
import { type Listener, openListener } from '../http/listen/listen.ts';
import { probePort } from '../http/listen/port.ts';
import { Siblings } from '../installation/servers.ts';
import { type AppDeps, createApp } from './app.ts';
import type { System } from './assemble.ts';

/** Idle connections are closed after this time. */
const IDLE_SECONDS = 120;

/** A listener that the other servers of the vault know of. */
export interface AnnouncedListener extends Pick<Listener, 'startDraining' | 'close'> {
  /** True if a server of the same vault already listened on the port. */
  readonly isShared: boolean;
}

/** The address of an application, and the settings that it comes from. */
interface Place {
  readonly host: string;
  readonly port: number;
  readonly hostSetting: SettingName;
  readonly portSetting: SettingName;
}

/**
 * Translates a system error about the address into a `StartError` for the operator; returns any other error
 * unchanged.
 */
function explained(error: unknown, { host, port, hostSetting, portSetting }: Place): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    return new StartError(`${host}:${port} is already in use; set ${portSetting} to a free port.`);
  }
  return code === 'EADDRNOTAVAIL' || code === 'EACCES'
    ? new StartError(`${host}:${port} cannot be listened on; see ${hostSetting} and ${portSetting}.`)
    : error;
}

/** A listener that is open, and how the other servers know of it. */
interface Opened {
  readonly listener: Listener;
  readonly siblings: Siblings;
  readonly isShared: boolean;
}

/** Opens a listener, with SO_REUSEPORT only if the port belongs to a server of this vault. */
async function openShared(
  { tls }: Config,
  place: Place,
  app: ReturnType<typeof createApp>,
  deps: AppDeps,
  { stores, randomId, roots }: System,
): Promise<Opened> {
  const { host, port } = place;
  const certificateEnd = tls === undefined ? '' : endOfCertificate(tls.cert);
  const own = { id: randomId(), address: host, port, version, certificateEnd };
  const readRoots = async (): Promise<string> => (await roots.refresh()).state;
  const siblings = new Siblings(stores.serverStore, own, readRoots);
  try {
    const state = await probePort(host, port, () => siblings.havePort());
    if (state === 'taken') {
      throw new StartError(`${host}:${port} is already in use; set ${place.portSetting} to a free port.`);
    }
    const listener = openListener(app, {
      hostname: host,
      port,
      idleTimeoutSeconds: IDLE_SECONDS,
      onError: (error, requestId) => logFault(error, { requestId, route: '(none)' }, deps),
      ...(tls === undefined ? {} : { tls: { cert: tls.cert, key: tls.key.expose() } }),
    });
    return { listener, siblings, isShared: state === 'shared' };
  } catch (error) {
    throw explained(error, place);
  }
}

/** The applications of a configuration, each with its place. The one that needs accounts comes first. */
function applicationsOf(config: Config, deps: AppDeps) {
  const { host, port, admin } = config;
  const place: Place = { host, port, hostSetting: 'VAULT_HOST', portSetting: 'VAULT_PORT' };
  return admin === undefined
    ? [{ place, app: createApp(deps) }]
    : [
        {
          place: {
            ...admin,
            hostSetting: 'VAULT_ADMIN_HOST',
            portSetting: 'VAULT_ADMIN_PORT',
          } satisfies Place,
          app: createApp(deps),
        },
        { place, app: createApp(deps, 'public') },
      ];
}

/**
 * Listens on each configured address, on a free port or one that servers of the same vault share, and announces
 * it. Rejects with a `StartError` when another program has a port, or an address cannot be used.
 */
export async function openConfiguredListener(
  config: Config,
  deps: AppDeps,
  vault: System,
): Promise<AnnouncedListener> {
  const opened: Opened[] = [];
  for (const { place, app } of applicationsOf(config, deps)) {
    opened.push(await openShared(config, place, app, deps, vault));
  }
  await Promise.all(opened.map(({ siblings }) => siblings.announce()));
  return {
    isShared: opened.some(({ isShared }) => isShared),
    startDraining: () => {
      for (const { listener } of opened) {
        listener.startDraining();
      }
    },
    close: async () => {
      await Promise.all(
        opened.map(async ({ listener, siblings }) => {
          await listener.close();
          await siblings.withdraw();
        }),
      );
    },
  };
}
