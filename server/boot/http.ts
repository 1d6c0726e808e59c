import type { FormBundles } from '../../forms/build.ts';
import { type Config, publicUrl } from '../config/config.ts';
import { StartError } from '../core/errors.ts';
import { createFormPages } from '../http/plugins/form-pages.ts';
import type { HttpConfig, HttpParts } from '../http/plugins/http-parts.ts';
import { createHealth } from '../services/admin/health.ts';
import type { System } from './assemble.ts';

const BODY_TIMEOUT_MS = 30_000;

/** What the HTTP side needs beside the system. */
interface HttpOptions extends Pick<HttpParts, 'http' | 'metrics' | 'tracing' | 'log'> {
  readonly bundles: FormBundles;
  readonly stagingUrl?: string | undefined;
  /** Protections that Redis lacks, and that the operator does without. */
  readonly unsafe?: readonly string[];
}

/** The HTTP settings of a configuration. Throws a `StartError` when forms share the host of the API. */
export function httpConfigOf(config: Config): HttpConfig {
  const { formsUrl, trustedProxies, tls } = config;
  const own = publicUrl(config, config.port);
  if (formsUrl !== undefined && new URL(formsUrl).host === new URL(own).host) {
    throw new StartError('VAULT_FORMS_URL must have another host than VAULT_PUBLIC_URL, or be left out.');
  }
  return {
    ...{ publicUrl: own, formsUrl, trustedProxies },
    tls: tls !== undefined,
    bodyTimeoutMs: BODY_TIMEOUT_MS,
    checkReplies: false,
  };
}

/** Everything that the HTTP application is made from. */
export function createHttpParts(
  system: System,
  { http, bundles, stagingUrl, unsafe, ...telemetry }: HttpOptions,
) {
  const { services, settings, now, randomId, pool } = system;
  const { publicUrl, formsUrl } = http;
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
    formPages: createFormPages({ bundles, publicUrl, formsUrl, stagingUrl, gallery, newNonce: randomId }),
    health: createHealth({ redis: system.probe, workers }, now, unsafe),
    now,
    newRequestId: randomId,
  };
}
