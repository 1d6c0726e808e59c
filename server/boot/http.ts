import type { FormBundles } from '../../forms/build.ts';
import { type Config, publicUrl } from '../config/config.ts';
import { peopleOf } from '../config/people.ts';
import { StartError } from '../core/errors.ts';
import { FormPages } from '../form/pages/render.ts';
import type { HttpConfig, HttpDeps } from '../http/deps.ts';
import { Health } from '../http/health.ts';
import type { System } from './assemble.ts';

/** Time limit for the body of a request. */
const BODY_TIMEOUT_MS = 30_000;

/** Options of the HTTP application in addition to the system. */
interface HttpOptions extends Pick<HttpDeps, 'http' | 'metrics' | 'scrape' | 'tracer' | 'log'> {
  readonly bundles: FormBundles;
  /** The API that form pages in test mode call; this server by default. */
  readonly stagingUrl?: string | undefined;
  /** Names of unsafe Redis settings that the operator allows; readiness reports them. */
  readonly unsafe?: readonly string[];
}

/** The HTTP settings of a configuration. */
export function httpConfigOf(config: Config): HttpConfig {
  const { formsUrl, trustedProxies, refuseUnknown, tls } = config;
  return {
    ...{ publicUrl: publicUrl(config), formsUrl, trustedProxies, refuseUnknown },
    people: peopleOf(config),
    tls: tls !== undefined,
    hasAdmin: config.admin !== undefined,
    bodyTimeoutMs: BODY_TIMEOUT_MS,
    checkReplies: false,
  };
}

/**
 * Collects everything that the HTTP application is created from: services, telemetry, form pages, health checks,
 * clock and request ids.
 */
export function createHttpDeps(
  system: System,
  { http, bundles, stagingUrl, unsafe, ...telemetry }: HttpOptions,
) {
  const { services, settings, now, randomId, pool, crypto } = system;
  const { publicUrl, formsUrl } = http;
  // Example forms are shown on staging servers only.
  const gallery = settings.environment === 'staging';
  const workers = async (): Promise<void> => {
    if (pool.stats().threadsAlive === 0) {
      throw new StartError('no thread is alive');
    }
  };
  return {
    ...services,
    ...telemetry,
    http,
    parseBody: crypto.parseBody,
    formPages: new FormPages({ bundles, publicUrl, formsUrl, stagingUrl, gallery, newNonce: randomId }),
    health: new Health({ redis: system.probe, workers }, now, unsafe),
    now,
    newRequestId: randomId,
  };
}
